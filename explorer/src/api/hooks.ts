// The documents of the sidecar as components read them. Start at usePolled.

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Client, isAbort } from "./client";
import { UNKNOWN, type Ask, type Clock, type Interval, type Polled } from "./poller";
import { Session } from "./session";
import type { Access } from "./types";

const browserClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** The session of this page. */
export const session = new Session(new Client((url, init) => fetch(url, init), () => document.baseURI), browserClock);

/** How often lists are asked for, in milliseconds: the sidecar makes the list of pending pods once a second. */
export const LIST_MS = 2_000;

/** How often documents are asked for that only an operator changes, in milliseconds. */
export const SLOW_MS = 10_000;

export interface PolledView<T> extends Polled<T> {
  /** Whether the value is still that of the path before, because the new path has no answer yet. */
  isOther: boolean;
}

/** The document at a path, or what `ask` gives under that name, polled while the component is there; with null, nothing. */
export function usePolled<T>(path: string | null, intervalMs: Interval<T> = LIST_MS, ask?: Ask<T>): PolledView<T> {
  const [state, setState] = useState<{ path: string | null; polled: Polled<T> }>({ path: null, polled: UNKNOWN });
  const last = useRef<{ value: T; at: number | undefined } | undefined>(undefined);
  // Not after the next frame: what is drawn first waits for the answer.
  useLayoutEffect(() => {
    if (path === null) return;
    return session.watch<T>(path, intervalMs, (polled) => setState({ path, polled }), ask);
  }, [path]);
  useEffect(
    () =>
      session.onRestart(() => {
        last.current = undefined;
      }),
    [],
  );
  const polled = state.path === path ? state.polled : UNKNOWN;
  if (polled.value !== undefined) {
    last.current = { value: polled.value, at: polled.at };
    return { ...polled, isOther: false };
  }
  if (polled.error === undefined && last.current !== undefined && path !== null) {
    return { ...polled, ...last.current, isOther: true };
  }
  return { ...polled, isOther: false };
}

export interface Asked<T> {
  answer: T | undefined;
  /** Why there is no newer answer. */
  error: Error | undefined;
  isAsking: boolean;
}

/**
 * What `ask` gives, which is called once for each key, and again whenever `state` changes; the answer before stays meanwhile. With a null
 * key nothing is asked.
 */
export function useAsked<T>(key: string | null, ask: (signal: AbortSignal) => Promise<T>, state = ""): Asked<T> {
  const wanted = key === null ? null : `${key} ${state}`;
  const [known, setKnown] = useState<{ key?: string; wanted?: string; answer?: T; error?: Error }>({});
  useLayoutEffect(() => {
    if (key === null || wanted === null) return;
    const call = new AbortController();
    ask(call.signal).then(
      (answer) => setKnown({ key, wanted, answer }),
      (thrown: unknown) => {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        if (!isAbort(thrown)) setKnown((last) => ({ ...(last.key === key ? last : {}), key, wanted, error }));
      },
    );
    return () => call.abort();
  }, [wanted]);
  const isAsking = wanted !== null && known.wanted !== wanted;
  return key !== null && known.key === key ? { answer: known.answer, error: known.error, isAsking } : { answer: undefined, error: undefined, isAsking };
}

/** The answer to a question in JSON that is posted; with null, nothing is. Asked again whenever `state` changes. */
export function usePosted<T>(path: string, question: object | null, state = ""): Asked<T> {
  const body = question && JSON.stringify(question);
  return useAsked(body && `${path} ${body}`, (signal) => session.client.post<T>(path, body ?? "", "application/json", signal), state);
}

const tickers = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** Runs something every second, by one timer for all, until the function that is returned is called. */
export function onTick(run: () => void): () => void {
  tickers.add(run);
  ticking ??= setInterval(() => {
    for (const ticker of [...tickers]) ticker();
  }, 1_000);
  return () => {
    tickers.delete(run);
    if (tickers.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}

/** The time of the clock, again every second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => onTick(() => setNow(Date.now())), []);
  return now;
}

/** What the reader may call, once it is known. */
export const AccessContext = createContext<Access | undefined>(undefined);

/** Whether the reader may make calls of a class; undefined until it is known. */
export function useMay(classOfCall: "read" | "operate"): boolean | undefined {
  const access = useContext(AccessContext);
  return access?.classes.includes(classOfCall);
}
