/** A client of the hub's HTTP port whose connections break and whose responses get lost. */
import http from 'node:http'
import type { Problem } from '../../src/contracts/errors/errors.ts'

/** The request was not sent, because no hub listens. */
export class HubAway extends Error {}

/** The request was sent and its outcome is unknown. */
export class AnswerLost extends Error {}

export class Refused extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(`${problem.code}: ${problem.detail}`)
    this.problem = problem
  }
}

/** The endpoint that a call uses for the same action. */
export type Way = 'route' | 'call' | 'mcp'

/** When the caller's connection breaks: this many milliseconds after the request, or at the response head. */
export type Break = { after_ms: number } | 'in the answer' | null

export interface Asking {
  facade: string
  action: string
  params: object
  token: string
  way?: Way
  breaks?: Break
  /** Aborted when the caller and its connections end. */
  gone?: AbortSignal
}

const ANSWER_MS = 20_000
const REVISION = '2026-07-28'
const CONNECTING = new Set(['ECONNREFUSED', 'ENOENT'])

/** Returns the parameters of a `tools/call` of the stateless protocol version. */
export function toolCallOf(facade: string, action: string, params: object) {
  const drains = facade === 'signals' && action === 'pending'
  return {
    name: drains ? 'signals_pending' : facade,
    arguments: drains ? params : { action, params },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': REVISION,
      'io.modelcontextprotocol/clientInfo': { name: 'soak', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
}

export class Door {
  private agent = new http.Agent({ keepAlive: true, maxSockets: 512 })
  private readonly urlOf: () => string | null
  readonly counts = { asked: 0, lost: 0, refused: {} as Record<string, number> }

  constructor(urlOf: () => string | null) {
    this.urlOf = urlOf
  }

  /** Throws HubAway, AnswerLost, or Refused. */
  async act<T>({ facade, action, params, token, way = 'route', ...rest }: Asking): Promise<T> {
    if (way === 'mcp') return await this.tool<T>({ facade, action, params, token, ...rest })
    if (way === 'route') return await this.post<T>(`/api/${facade}/${action}`, params, { token, ...rest })
    const { result } = await this.post<{ result: T }>(
      '/call',
      { tool: facade, action, params },
      { token, ...rest },
    )
    return result
  }

  async post<T>(
    route: string,
    body: object,
    rest: Pick<Asking, 'token' | 'breaks' | 'gone'>,
    headers: Record<string, string> = {},
  ): Promise<T> {
    const { status, text } = await this.ask(route, JSON.stringify(body), headers, rest)
    const answer = JSON.parse(text) as T
    if (status !== 200) throw this.refused(answer as Problem)
    return answer
  }

  /** Closes every connection; the next call opens a new one. */
  hangUp(): void {
    this.agent.destroy()
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 512 })
  }

  private async tool<T>({ facade, action, params, ...rest }: Asking): Promise<T> {
    const call = toolCallOf(facade, action, params)
    const { result } = await this.post<{ result: { isError?: boolean; structuredContent: T } }>(
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call },
      rest,
      {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': REVISION,
        'mcp-method': 'tools/call',
        'mcp-name': call.name,
      },
    )
    if (result.isError === true) throw this.refused(result.structuredContent as Problem)
    return result.structuredContent
  }

  private refused(problem: Problem): Refused {
    this.counts.refused[problem.code] = (this.counts.refused[problem.code] ?? 0) + 1
    return new Refused(problem)
  }

  private ask(
    route: string,
    body: string,
    headers: Record<string, string>,
    { token, breaks = null, gone }: Pick<Asking, 'token' | 'breaks' | 'gone'>,
  ): Promise<{ status: number; text: string }> {
    const url = this.urlOf()
    if (url === null) return Promise.reject(new HubAway('it is being started'))
    if (gone?.aborted) return Promise.reject(new HubAway('the caller is gone'))
    this.counts.asked += 1
    return new Promise((resolve, reject) => {
      let cut: NodeJS.Timeout | undefined
      let over = false
      const end = (settle: () => void) => {
        // A destroyed request also emits an error.
        if (over) return
        over = true
        clearTimeout(cut)
        clearTimeout(patience)
        gone?.removeEventListener('abort', onGone)
        settle()
      }
      const lost = (why: string) =>
        end(() => {
          this.counts.lost += 1
          request.destroy()
          reject(new AnswerLost(`${route}: ${why}`))
        })
      const onGone = () => lost('the caller died')
      const request = http.request(`${url}${route}`, {
        method: 'POST',
        agent: this.agent,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...headers,
        },
      })
      const patience = setTimeout(() => lost('no answer in time'), ANSWER_MS)
      gone?.addEventListener('abort', onGone, { once: true })
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (!CONNECTING.has(error.code ?? '')) return lost(error.message)
        end(() => reject(new HubAway(error.message)))
      })
      request.on('response', (response) => {
        if (breaks === 'in the answer') return lost('broke in the answer')
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('error', (error) => lost(error.message))
        response.on('aborted', () => lost('cut off'))
        response.on('end', () => {
          if (!response.complete) return lost('cut short')
          end(() => resolve({ status: response.statusCode ?? 0, text }))
        })
      })
      request.end(body, () => {
        if (breaks === null || breaks === 'in the answer') return
        cut = setTimeout(() => lost('broke on the way'), breaks.after_ms)
      })
    })
  }
}
