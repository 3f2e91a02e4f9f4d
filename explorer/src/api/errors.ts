// Why a call of the page has no answer, and what the reader is told of it. Start at ApiError.

/** The kinds of failure that the page tells apart, in a few words each. */
const HEADINGS = {
  /** No answer came: the sidecar, the port-forward or the network is gone. */
  lost: "No connection to the sidecar",
  /** The first lists are not complete, or the source is stale and that is refused. */
  notReady: "The sidecar is not ready",
  busy: "The sidecar is busy",
  timeout: "The sidecar has not answered in time",
  forbidden: "You may not read this",
  notFound: "Not here",
  conflict: "Not available",
  invalid: "The sidecar does not take this question",
  failed: "The sidecar has failed to answer",
};

export type Failure = keyof typeof HEADINGS;

/** The failures that HTTP statuses stand for; other statuses from 400 to 499 are `invalid`, and all others `failed`. */
const STATUSES: Record<number, Failure> = {
  401: "forbidden",
  403: "forbidden",
  404: "notFound",
  408: "timeout",
  409: "conflict",
  429: "busy",
  502: "lost",
  503: "notReady",
  504: "timeout",
};

/** A call that has failed. */
export class ApiError extends Error {
  constructor(
    readonly failure: Failure,
    /** The HTTP status; 0 where no answer came. */
    readonly status: number,
    /** The sidecar's sentence, or the browser's. */
    message: string,
    /** The least time until the call is to be repeated, in milliseconds. */
    readonly retryAfterMs = 0,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** The failure in a few words. */
export function heading(error: ApiError): string {
  return HEADINGS[error.failure];
}

/** Whether the same call may succeed soon without anybody doing anything. */
export function passes(error: ApiError): boolean {
  return ["lost", "notReady", "busy", "timeout", "failed"].includes(error.failure);
}

/** Whether the pod of a question is not there, or not pending any more. */
export function isGone(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.failure === "notFound" || error.failure === "conflict");
}

/** The failure that an HTTP status stands for. */
export function failureOf(status: number): Failure {
  return STATUSES[status] ?? (status >= 400 && status < 500 ? "invalid" : "failed");
}
