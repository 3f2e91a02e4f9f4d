// Why a call of the page has no answer, and what the reader is told of it. Start at ApiError.

/** The kinds of failure that the page tells apart. */
export type Failure =
  | "lost" // no answer came: the sidecar, the port-forward or the network is gone
  | "notReady" // 503: the first lists are not complete, or the source is stale and that is refused
  | "busy" // 429
  | "timeout" // 408, 504
  | "forbidden" // 401, 403
  | "notFound" // 404
  | "conflict" // 409
  | "invalid" // 400, 406, 413, 415, 422
  | "failed"; // anything else

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

const HEADINGS: Record<Failure, string> = {
  lost: "No connection to the sidecar",
  notReady: "The sidecar is not ready",
  busy: "The sidecar is busy",
  timeout: "The sidecar has not answered in time",
  forbidden: "You may not read this",
  notFound: "Not here",
  conflict: "Not available",
  invalid: "The sidecar does not take this question",
  failed: "The sidecar has failed to answer",
};

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
  switch (status) {
    case 401:
    case 403:
      return "forbidden";
    case 404:
      return "notFound";
    case 408:
    case 504:
      return "timeout";
    case 409:
      return "conflict";
    case 429:
      return "busy";
    case 502:
      return "lost";
    case 503:
      return "notReady";
    default:
      return status >= 400 && status < 500 ? "invalid" : "failed";
  }
}
