// One document of the sidecar, asked for again and again while somebody looks at it.
//
// An answer is kept while later calls fail, with the time at which it was confirmed last. After a failure the time to the next call
// doubles, up to 30 s. Nothing is asked while the page is hidden. Start at Poller.

import { isAbort, type Answer } from "./client";
import { ApiError, passes } from "./errors";

/** The longest time between two calls after failures, in milliseconds. */
export const BACK_OFF_MS = 30_000;

/** The time of the first repeated call after a failure, in milliseconds. */
export const FIRST_RETRY_MS = 1_000;

/** The time and the timer that a poller uses: those of the browser, or scripted ones in tests. */
export interface Clock {
  now(): number;
  /** Runs something later; the function that is returned cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** A document as it is known now. */
export interface Polled<T> {
  /** The last answer; undefined before the first one. */
  value: T | undefined;
  /** When the sidecar confirmed it last, in milliseconds of the clock. */
  at: number | undefined;
  /** Why the last call failed; undefined where it did not. */
  error: ApiError | undefined;
  /** The age that the sidecar gave the document then, by the header `Age`; null without one. */
  ageMs: number | null;
  /** When the next call is made, in milliseconds of the clock; undefined while one is under way. */
  nextAt: number | undefined;
}

/** A document of which nothing is known yet. */
export const UNKNOWN: Polled<never> = { value: undefined, at: undefined, error: undefined, ageMs: null, nextAt: undefined };

/** The time between two calls, in milliseconds, or what it is for an answer. */
export type Interval<T> = number | ((value: T | undefined) => number);

export type Ask<T> = (etag: string | null, signal: AbortSignal) => Promise<Answer<T>>;

/** The time until the next call after so many failures in a row. */
export function waitMs(intervalMs: number, failures: number, error: ApiError | undefined): number {
  if (!error) return intervalMs;
  // Nobody but an operator can change these.
  if (!passes(error)) return BACK_OFF_MS;
  const doubled = FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 16);
  return Math.min(BACK_OFF_MS, Math.max(doubled, error.retryAfterMs));
}

export class Poller<T> {
  state: Polled<T> = UNKNOWN;
  private readonly listeners = new Set<() => void>();
  private etag: string | null = null;
  private failures = 0;
  private cancelTimer: (() => void) | undefined;
  private call: AbortController | undefined;
  private paused = false;

  constructor(private readonly ask: Ask<T>, private readonly intervalMs: Interval<T>, private readonly clock: Clock) {}

  /** Calls the listener after each change, and polls until the last listener has left by the function that is returned. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    if (this.listeners.size === 1) this.refresh();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stop();
    };
  }

  get isWatched(): boolean {
    return this.listeners.size > 0;
  }

  /** Asks now. */
  refresh(): void {
    this.stop();
    if (this.isWatched && !this.paused) void this.run();
  }

  /** Stops asking while the page is hidden, and asks at once when it is seen again. */
  pause(paused: boolean): void {
    if (this.paused === paused) return;
    this.paused = paused;
    this.refresh();
  }

  /** Forgets the answer, which is of another process, and asks for a new one. */
  drop(): void {
    this.etag = null;
    this.set(UNKNOWN);
    this.refresh();
  }

  private stop(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    this.call?.abort();
    this.call = undefined;
  }

  private async run(): Promise<void> {
    const call = new AbortController();
    this.call = call;
    this.state = { ...this.state, nextAt: undefined };
    let error: ApiError | undefined;
    let { value, ageMs } = this.state;
    try {
      const answer = await this.ask(value === undefined ? null : this.etag, call.signal);
      if (call.signal.aborted) return;
      ageMs = answer.ageMs;
      if (!answer.same) {
        value = answer.value;
        this.etag = answer.etag;
      }
      this.failures = 0;
    } catch (thrown) {
      if (call.signal.aborted || isAbort(thrown)) return;
      error = thrown instanceof ApiError ? thrown : new ApiError("failed", 0, String(thrown));
      this.failures += 1;
    }
    const now = this.clock.now();
    const interval = typeof this.intervalMs === "number" ? this.intervalMs : this.intervalMs(value);
    const wait = waitMs(interval, this.failures, error);
    this.call = undefined;
    this.cancelTimer = this.clock.after(wait, () => void this.run());
    this.set({ value, at: error ? this.state.at : now, error, ageMs, nextAt: now + wait });
  }

  private set(state: Polled<T>): void {
    this.state = state;
    for (const listener of [...this.listeners]) listener();
  }
}
