// Polling by a scripted clock: the interval, the back-off, what is kept, and when nothing is asked.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../../src/api/client";
import { ApiError } from "../../src/api/errors";
import type { Clock } from "../../src/api/poller";
import { BACK_OFF_MS, Poller, waitMs } from "../../src/api/poller";

/** A clock that stands until it is moved on. */
class FakeClock implements Clock {
  time = 0;
  private timers: { at: number; run: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.time + ms, run };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((other) => other !== timer));
  }

  /** Moves on to the next timer and waits until what it started has settled; how long that was. */
  async next(): Promise<number> {
    const timer = [...this.timers].sort((a, b) => a.at - b.at)[0];
    assert.ok(timer, "nothing waits");
    this.timers = this.timers.filter((other) => other !== timer);
    const waited = timer.at - this.time;
    this.time = timer.at;
    timer.run();
    await settled();
    return waited;
  }

  get waiting(): number {
    return this.timers.length;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

type Step = Answer<string> | ApiError;

function poller(steps: Step[]) {
  const clock = new FakeClock();
  const etags: (string | null)[] = [];
  const made = new Poller<string>(
    async (etag) => {
      etags.push(etag);
      const step = steps.shift();
      if (step === undefined) throw new Error("asked too often");
      if (step instanceof ApiError) throw step;
      return step;
    },
    2_000,
    clock,
  );
  return { made, clock, etags };
}

const fresh = (value: string, etag = value): Answer<string> => ({ same: false, value, etag, ageMs: null });
const same: Answer<string> = { same: true, ageMs: 3_000 };
const lost = new ApiError("lost", 0, "gone");

test("an answer is asked for again with its ETag, and an unchanged one is kept and confirmed", async () => {
  const { made, clock, etags } = poller([fresh("one"), same, fresh("two")]);
  made.subscribe(() => {});
  await settled();
  assert.equal(made.state.value, "one");
  assert.equal(await clock.next(), 2_000);
  assert.deepEqual([made.state.value, made.state.at, made.state.ageMs], ["one", 2_000, 3_000]);
  await clock.next();
  assert.equal(made.state.value, "two");
  assert.deepEqual(etags, [null, "one", "one"]);
});

test("after failures the wait doubles up to thirty seconds, and the answer stays with its time", async () => {
  const { made, clock } = poller([fresh("one"), ...Array.from({ length: 8 }, () => lost), fresh("two"), same]);
  made.subscribe(() => {});
  await settled();
  const waits = [await clock.next()];
  for (let turn = 0; turn < 7; turn += 1) waits.push(await clock.next());
  assert.deepEqual(waits, [2_000, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  assert.deepEqual([made.state.value, made.state.at, made.state.error?.failure], ["one", 0, "lost"]);
  await clock.next();
  assert.deepEqual([made.state.value, made.state.error], ["two", undefined]);
  assert.equal(await clock.next(), 2_000, "a success ends the back-off");
});

test("the sidecar's Retry-After is kept to, within the longest wait", () => {
  const busy = (seconds: number) => new ApiError("busy", 429, "", seconds * 1_000);
  assert.equal(waitMs(2_000, 1, busy(5)), 5_000);
  assert.equal(waitMs(2_000, 1, busy(3_600)), BACK_OFF_MS);
  assert.equal(waitMs(2_000, 4, busy(1)), 8_000);
});

test("what only an operator changes is asked for seldom at once", () => {
  for (const failure of ["forbidden", "notFound", "conflict", "invalid"] as const) {
    assert.equal(waitMs(2_000, 1, new ApiError(failure, 400, "")), BACK_OFF_MS, failure);
  }
});

test("nothing is asked without a listener or while the page is hidden", async () => {
  const { made, clock, etags } = poller([fresh("one"), same, same]);
  made.pause(true);
  const leave = made.subscribe(() => {});
  await settled();
  assert.deepEqual([etags.length, clock.waiting], [0, 0]);
  made.pause(false);
  await settled();
  assert.equal(etags.length, 1);
  made.pause(true);
  assert.equal(clock.waiting, 0);
  made.pause(false);
  await settled();
  assert.equal(etags.length, 2);
  leave();
  assert.equal(clock.waiting, 0);
});

test("a dropped answer is asked for anew, without its ETag", async () => {
  const { made, etags } = poller([fresh("one"), fresh("two")]);
  made.subscribe(() => {});
  await settled();
  made.drop();
  assert.equal(made.state.value, undefined);
  await settled();
  assert.deepEqual([made.state.value, etags], ["two", [null, null]]);
});

test("an answer that comes after its call was given up changes nothing", async () => {
  const clock = new FakeClock();
  const answers: ((answer: Answer<string>) => void)[] = [];
  const made = new Poller<string>(() => new Promise((resolve) => answers.push(resolve)), 2_000, clock);
  made.subscribe(() => {});
  made.refresh();
  answers[1]?.(fresh("new"));
  await settled();
  answers[0]?.(fresh("old"));
  await settled();
  assert.equal(made.state.value, "new");
});
