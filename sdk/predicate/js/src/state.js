// Facts that are about neither the pod nor a node: moments that have passed, and entries of ConfigMaps.
import { facts } from './host.js';

/** Whether a moment, in seconds since 1970, has passed. */
export const passed = (at) => facts('time', 'passed(…)').passed(at);

/** The value of a key of a ConfigMap, `namespace/name`. */
export const configEntry = (configMap, key) =>
  facts('config-maps', 'configEntry(…)').entry(configMap, key) ?? undefined;
