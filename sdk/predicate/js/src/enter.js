// The first module of a component: what comes after it, the author's files too, has no more than the sandbox has.
import { enter } from './sandbox.js';

enter();
