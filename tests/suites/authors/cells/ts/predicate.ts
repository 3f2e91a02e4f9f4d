// A predicate that does what the sandbox lacks, and what goes wrong: one of them, which its argument names.
import { args, log, predicate } from '@nodesift/predicate';

/** Names that are not in the types of a predicate. */
const world = globalThis as unknown as Record<string, any>;

const deep = (n: number): number => deep(n + 1) + 1;

export default predicate({
  name: 'Cells',
  summary: 'does what the sandbox lacks',
  reads: ['pod-labels'],
  args: { does: args.string({ default: '' }) },

  filter(pod, nodes, { does }) {
    switch (does) {
      case 'print':
        console.log('printed', pod.namespace);
        break;
      case 'log':
        log.info('logged');
        break;
      case 'clock':
        Date.now();
        break;
      case 'random':
        Math.random();
        break;
      case 'network':
        world.fetch('http://localhost');
        break;
      case 'environment':
        world.process.env.HOME;
        break;
      case 'exit':
        world.process.exit(1);
        break;
      case 'exception':
        throw new TypeError('mine');
      case 'index':
        world.none[nodes.count].length;
        break;
      case 'loop':
        for (;;);
      case 'memory':
        new Uint8Array(100 << 20);
        break;
      case 'stack':
        deep(0);
        break;
      case 'deadlock':
        world.setTimeout(() => {}, 1);
        break;
    }
  },
});
