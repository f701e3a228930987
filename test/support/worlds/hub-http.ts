/** An HTTP client for the current hub of a home; it retries while the hub restarts. */
import fs from 'node:fs'
import path from 'node:path'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import { resolveHome } from '../../../src/system/config/home.ts'
import { runningHub } from '../../../src/system/config/hub-discovery.ts'

export interface HubHttp {
  /** Returns the address in the home's pid file. */
  url(): string
  /** Sends a POST as the operator or with another token. Rejects with the problem if the hub rejects it. */
  post<T>(route: string, body: unknown, token?: string): Promise<T>
  get<T>(route: string, token?: string): Promise<T>
}

export class Refused extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`)
    this.problem = problem
  }
}

export function hubHttp(home: string): HubHttp {
  const url = () => {
    const running = runningHub(resolveHome({}, home))
    // Another process may use the port of a killed hub.
    if (running === null) throw new Error(`no hub runs in ${home}`)
    return running.url
  }
  const operator = () => fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
  const request = async <T>(
    method: string,
    route: string,
    token: string | undefined,
    body?: unknown,
  ): Promise<T> => {
    const response = await fetch(`${url()}${route}`, {
      method,
      headers: {
        authorization: `Bearer ${token ?? operator()}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const answer: unknown = response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text
    if (!response.ok) throw new Refused(answer as Problem)
    return answer as T
  }
  return {
    url,
    post: (route, body, token) => request('POST', route, token, body),
    get: (route, token) => request('GET', route, token),
  }
}
