// The routes beside the overview and the pages of pending pods: one script, which is loaded when one of them is opened first. It is one
// and not several, because each more splits what it shares with the others off, and the first load would need more requests.

export { About } from "./about";
export { Negotiations } from "./negotiations";
export { Node } from "./node";
export { Nodes } from "./nodes";
export { addNodeHelp } from "./pod/add_node_help";
export { Policy } from "./policy";
export { PolicyHistory } from "./policy_history";
export { Shadow } from "./shadow";
export { TryManifest, TryPod } from "./try";
