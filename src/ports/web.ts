/** One HTTP request. `src/system/web.ts` makes real ones. */
export interface Web {
  /**
   * Asks exactly this address: no redirect is followed, no proxy taken from the environment, no cookie kept.
   *
   * @throws `request_failed` where no answer comes, `timed_out` where none is complete in time. Neither says
   * what the headers held.
   */
  request(request: WebRequest): Promise<WebAnswer>
}

export interface WebRequest {
  url: string
  method: string
  headers: Readonly<Record<string, string>>
  body?: string
  timeout_ms: number
  answer_bytes_max: number
}

export interface WebAnswer {
  status: number
  /** In lower case; several of the same name are joined by commas. */
  headers: Record<string, string>
  body: string
  /** The answer was longer. */
  cut: boolean
}
