// Calls of the sidecar: one function for a GET, one for a POST, both with a time limit and with failures as ApiError.
//
// Addresses are relative to the page, so that it works below any prefix of an ingress. Start at Client.

import { ApiError, failureOf } from "./errors";

/** The longest that one call may take, in milliseconds: longer than any deadline of the sidecar. */
export const CALL_MS = 30_000;

/** An answer, or the word of the sidecar that the one before still holds. */
export type Answer<T> =
  | { same: false; value: T; etag: string | null; ageMs: number | null }
  | { same: true; ageMs: number | null };

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface GetOptions { etag?: string | null; signal?: AbortSignal }

export class Client {
  /** `base` is the address of the page. */
  constructor(private readonly fetch: Fetch, private readonly base: () => string) {}

  /** The answer to a GET as JSON, or that it is the same as the one with this ETag. Throws ApiError. */
  async get<T>(path: string, { etag, signal }: GetOptions = {}): Promise<Answer<T>> {
    const headers: Record<string, string> = { accept: "application/json" };
    if (etag) headers["if-none-match"] = etag;
    const response = await this.send(path, { headers }, signal);
    const age = response.headers.get("age");
    const ageMs = age === null ? null : Number(age) * 1000;
    if (response.status === 304) return { same: true, ageMs };
    return { same: false, value: await json<T>(response), etag: response.headers.get("etag"), ageMs };
  }

  /** The answer to a GET that names no version. Throws ApiError. */
  async read<T>(path: string, signal?: AbortSignal): Promise<T> {
    const answer = await this.get<T>(path, signal ? { signal } : {});
    if (answer.same) throw new ApiError("failed", 304, "unchanged, to a question that names no version");
    return answer.value;
  }

  /** The answer to a POST as JSON. Throws ApiError. */
  async post<T>(path: string, body: string, contentType: string, signal?: AbortSignal): Promise<T> {
    const headers = { accept: "application/json", "content-type": contentType };
    return json<T>(await this.send(path, { method: "POST", headers, body }, signal));
  }

  /** Status and text of a GET whatever the status is. Throws ApiError only where no answer came. */
  async text(path: string, signal?: AbortSignal): Promise<{ status: number; text: string }> {
    const response = await this.reach(path, {}, signal);
    return { status: response.status, text: await body(response) };
  }

  private async send(path: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
    const response = await this.reach(path, init, signal);
    if (response.ok || response.status === 304) return response;
    throw await refusal(response);
  }

  private async reach(path: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
    const limit = AbortSignal.timeout(CALL_MS);
    const either = signal ? AbortSignal.any([signal, limit]) : limit;
    try {
      return await this.fetch(new URL(path, this.base()).href, { ...init, cache: "no-store", signal: either });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError("lost", 0, limit.aborted ? `no answer within ${CALL_MS / 1000} s` : "the connection failed");
    }
  }
}

/** Whether a call was given up by the page itself. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** A path of the API with its parameters, absent and empty ones left out. */
export function withQuery(path: string, parameters: Record<string, string | number | undefined>): string {
  const parts = Object.entries(parameters)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${queryValue(String(value))}`);
  return parts.length > 0 ? `${path}?${parts.join("&")}` : path;
}

/** A value for the query of the API: what names of Kubernetes consist of stays readable, also in the commands that people copy. */
function queryValue(value: string): string {
  return encodeURIComponent(value).replace(/%(2F|3A|2C)/g, (escape) => decodeURIComponent(escape));
}

async function body(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("lost", 0, "the connection ended within the answer");
  }
}

async function json<T>(response: Response): Promise<T> {
  const text = await body(response);
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError("failed", response.status, "the answer is not JSON: something between the page and the sidecar has sent it");
  }
}

/** The refusal of the sidecar, `{"error": {"code", "message"}}`, or whatever else has answered in its place. */
async function refusal(response: Response): Promise<ApiError> {
  const text = await body(response);
  let message = `status ${response.status}`;
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string } };
    if (error?.message) message = error.message;
  } catch {
    // A proxy has answered: its page says less than the status.
  }
  const retryAfter = Number(response.headers.get("retry-after") ?? 0);
  const retryAfterMs = Number.isFinite(retryAfter) ? retryAfter * 1000 : 0;
  return new ApiError(failureOf(response.status), response.status, message, retryAfterMs);
}
