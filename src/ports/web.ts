/** Sends single HTTP requests. `src/system/ipc/web.ts` sends real ones. */
export interface Web {
  /**
   * Sends the request to exactly this address: follows no redirect, uses no proxy from the environment, stores no cookie.
   *
   * @throws `request_failed` without a response, `timed_out` without a complete response in time. Neither contains header
   * values.
   */
  request(request: WebRequest): Promise<WebResponse>
}

export interface WebRequest {
  url: string
  method: string
  headers: Readonly<Record<string, string>>
  body?: string
  timeout_ms: number
  response_bytes_max: number
}

export interface WebResponse {
  status: number
  /** Names in lower case; several headers of the same name are joined by commas. */
  headers: Record<string, string>
  body: string
  /** True if the response was longer than the limit. */
  truncated: boolean
}
