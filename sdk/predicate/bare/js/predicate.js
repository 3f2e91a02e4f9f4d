// TeamIsolation with jco: a pod with the label runs only on nodes that have the same label with the same value.
import { label as podLabel } from 'nodesift:predicate/pod-labels@0.2.0';
import { code, column } from 'nodesift:predicate/node-labels@0.2.0';

const OTHER_TEAM = { status: 'unschedulable-and-unresolvable', reasons: ["node(s) didn't belong to the pod's team"] };

let key = 'example.com/team';

export const predicate = {
  describe: () => ({ name: 'TeamIsolation', version: '0.1.0', summary: 'rejects nodes that belong to another team than the pod' }),

  // Of a result, an error is thrown.
  configure(args) {
    const { label = key, ...others } = JSON.parse(args);
    for (const other of Object.keys(others)) throw `${other}: unknown field`;
    if (typeof label !== 'string' || label === '') throw 'label: must be a text that is not empty';
    key = label;
  },

  filter(rows) {
    const team = podLabel(key);
    if (team == null) return { tag: 'fits-all' };
    // A column has a code per row, and equal texts have equal codes. No code: no node has it.
    const wanted = code(key, team);
    const codes = Uint16Array.from(column(key), (at) => (at === wanted ? 0 : 1));
    return { tag: 'by-row', val: { codes, failures: [OTHER_TEAM] } };
  },
};
