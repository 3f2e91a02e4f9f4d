// The pod that is being filtered. Each fact is read from the host once a call.
import { facts } from './host.js';

const EFFECTS = { 'no-schedule': 'NoSchedule', 'prefer-no-schedule': 'PreferNoSchedule', 'no-execute': 'NoExecute' };

/** The effect of a taint as Kubernetes writes it. */
export const effectText = (effect) => EFFECTS[effect] ?? 'Other';

export class Pod {
  constructor() {
    this._read = new Map();
  }

  _once(key, read) {
    let value = this._read.get(key);
    if (value === undefined && !this._read.has(key)) {
      value = read() ?? undefined;
      this._read.set(key, value);
    }
    return value;
  }

  get namespace() {
    return this._once('namespace', () => facts('pod-labels', 'pod.namespace').namespace());
  }

  label(key) {
    return this._once(`l${key}`, () => facts('pod-labels', 'pod.label').label(key));
  }

  annotation(key) {
    return this._once(`a${key}`, () => facts('pod-annotations', 'pod.annotation').annotation(key));
  }

  get nodeName() {
    return this._once('nodeName', () => facts('pod-placement', 'pod.nodeName').nodeName());
  }

  get nodeSelector() {
    return this._once('nodeSelector', () => Object.fromEntries(facts('pod-placement', 'pod.nodeSelector').nodeSelector()));
  }

  get tolerations() {
    return this._once('tolerations', () =>
      facts('pod-tolerations', 'pod.tolerations')
        .tolerations()
        .map(({ key, operator, value, effect }) => ({
          key,
          operator: { equal: 'Equal', exists: 'Exists' }[operator] ?? 'Other',
          value,
          effect: effect == null ? undefined : effectText(effect),
        })),
    );
  }

  get requests() {
    return this._once('requests', () => {
      const requests = facts('pod-resources', 'pod.requests').requests();
      return Object.fromEntries(requests.map(({ resource, amount }) => [resource, amount]));
    });
  }

  request(resource) {
    return this.requests[resource] ?? 0;
  }

  namespaceLabel(key) {
    return this._once(`n${key}`, () => facts('namespace-labels', 'pod.namespaceLabel').label(key));
  }

  _spec(field) {
    return this._once(`s${field}`, () => facts('pod-spec', `pod.${field}`)[field]());
  }

  get priority() {
    return this._spec('priority');
  }

  get priorityClass() {
    return this._spec('priorityClass');
  }

  get serviceAccount() {
    return this._spec('serviceAccount');
  }

  get runtimeClass() {
    return this._spec('runtimeClass');
  }

  get hostNetwork() {
    return this._spec('hostNetwork');
  }

  get images() {
    return this._spec('images');
  }

  get schedulerName() {
    return this._spec('schedulerName');
  }

  get controller() {
    return this._once('controller', () => facts('pod-owner', 'pod.controller').controller());
  }
}
