// The documents that the page polls, each once however many parts of it look at it, and the notice of a sidecar that has restarted.
//
// Answers with columns of nodes name the epoch of the cache. Another epoch than before is another process: rows and generations of the one
// before mean nothing any more, so everything is forgotten and asked for again, once. Start at Session.

import { Client } from "./client";
import { Poller, type Ask, type Clock, type Interval, type Polled } from "./poller";

export class Session {
  private readonly pollers = new Map<string, Poller<unknown>>();
  private readonly restartListeners = new Set<() => void>();
  private epoch: string | undefined;
  private hidden = false;

  constructor(readonly client: Client, readonly clock: Clock) {}

  /** The document at a path of the API, or what `ask` gives under that name. The interval is that of whoever asks first. */
  private poller<T>(path: string, intervalMs: Interval<T>, ask?: Ask<T>): Poller<T> {
    const known = this.pollers.get(path);
    if (known) return known as Poller<T>;
    const poller = new Poller<T>(async (etag, signal) => {
      const answer = await (ask ? ask(etag, signal) : this.client.get<T>(path, { etag, signal }));
      if (!answer.same) this.saw(epochOf(answer.value));
      return answer;
    }, intervalMs, this.clock);
    poller.pause(this.hidden);
    this.pollers.set(path, poller as Poller<unknown>);
    return poller;
  }

  /** Watches the document at a path until the function that is returned is called, and then forgets it. */
  watch<T>(path: string, intervalMs: Interval<T>, changed: (state: Polled<T>) => void, ask?: Ask<T>): () => void {
    const poller = this.poller<T>(path, intervalMs, ask);
    const leave = poller.subscribe(() => changed(poller.state));
    return () => {
      leave();
      if (!poller.isWatched) this.pollers.delete(path);
    };
  }

  /** Asks now for a document that is watched. */
  refresh(path: string): void {
    this.pollers.get(path)?.refresh();
  }

  /** Stops asking while nobody sees the page. */
  setHidden(hidden: boolean): void {
    this.hidden = hidden;
    for (const poller of this.pollers.values()) poller.pause(hidden);
  }

  /** Calls the listener whenever the sidecar has restarted; the function that is returned ends that. */
  onRestart(listener: () => void): () => void {
    this.restartListeners.add(listener);
    return () => this.restartListeners.delete(listener);
  }

  /** Notes the epoch of an answer, and forgets everything where it is another one than before. */
  saw(epoch: string | undefined): void {
    if (epoch === undefined || epoch === this.epoch) return;
    const isRestart = this.epoch !== undefined;
    this.epoch = epoch;
    if (!isRestart) return;
    for (const poller of this.pollers.values()) poller.drop();
    for (const listener of [...this.restartListeners]) listener();
  }
}

function epochOf(value: unknown): string | undefined {
  const { epoch } = (value ?? {}) as { epoch?: unknown };
  return typeof epoch === "string" ? epoch : undefined;
}
