/** A patient HTTP client of whatever hub runs in a home right now. */
import fs from 'node:fs'
import path from 'node:path'
import type { Problem } from '../../src/contracts/errors.ts'
import { resolveHome } from '../../src/system/home.ts'
import { runningHub } from '../../src/system/hub-address.ts'

export interface HubHttp {
  /** The address in the home's pid file. */
  url(): string
  /** POST as the operator (or with another token). Rejects with the problem when the hub refuses. */
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
    // The port of one that was killed may be another's by now.
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
