/**
 * A real `turnbell mcp` of one session, and the client at its pipes. The first call starts it, and the next call after
 * a kill starts it again. A client that gives up a call cancels it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import type { Problem } from '../../src/contracts/errors/errors.ts'
import { BIN, cleanEnvironment } from '../support/processes/processes.ts'
import { AnswerLost, HubAway, Refused, toolCallOf } from './door.ts'

export interface BridgeWorld {
  home: string
  /** Address of the hub, which stays the same after restarts. */
  url: string
  env: Record<string, string>
}

export interface Called {
  facade: string
  action: string
  params: object
  /** Time after which the client gives up. */
  after_ms?: number | undefined
}

interface Answer {
  id?: number
  error?: { message: string; data?: unknown }
  result?: { isError?: boolean; structuredContent: unknown }
}

const ANSWER_MS = 20_000

export class BridgeProcess {
  /** Number of starts. */
  starts = 0
  private child: ChildProcess | null = null
  private stopped = false
  private closed = false
  private next_id = 1
  private readonly waiting = new Map<
    number,
    { answered: (answer: Answer) => void; lost: (error: AnswerLost) => void }
  >()
  private readonly args: readonly string[]
  private readonly env: Record<string, string>

  constructor(identity: string, session_id: string, { home, url, env }: BridgeWorld) {
    const whose = ['--persona', identity, '--session', session_id]
    this.args = ['mcp', '--stdio', ...whose, '--hub', url, '--home', home]
    this.env = env
  }

  /** Throws AnswerLost, or Refused. */
  async call<T>({ facade, action, params, after_ms = ANSWER_MS }: Called): Promise<T> {
    if (this.closed) throw new HubAway('the client is gone')
    const child = (this.child ??= this.start())
    const id = this.next_id++
    const send = (message: object) =>
      child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    let patience: NodeJS.Timeout | undefined
    const answered = new Promise<Answer>((resolve, reject) => {
      this.waiting.set(id, { answered: resolve, lost: reject })
      patience = setTimeout(() => {
        send({ method: 'notifications/cancelled', params: { requestId: id } })
        reject(new AnswerLost('the client gave it up'))
      }, after_ms)
    })
    send({ id, method: 'tools/call', params: toolCallOf(facade, action, params) })
    try {
      const { error, result } = await answered
      if (error !== undefined)
        throw new Refused((error.data ?? { code: 'internal', detail: error.message }) as Problem)
      if (result?.isError === true) throw new Refused(result.structuredContent as Problem)
      return result?.structuredContent as T
    } finally {
      clearTimeout(patience)
      this.waiting.delete(id)
    }
  }

  /** Returns false if no process runs. */
  kill(): boolean {
    return this.child?.kill('SIGKILL') ?? false
  }

  /** Stops it for this time, unless it is killed earlier. Returns false if no process runs. */
  standStill(ms: number): boolean {
    const { child } = this
    if (child === null || this.stopped || !child.kill('SIGSTOP')) return false
    this.stopped = true
    void pause(ms).then(() => {
      this.stopped = false
      child.kill('SIGCONT')
    })
    return true
  }

  /** Closes the pipe without a goodbye, like a client that died. */
  close(): void {
    this.closed = true
    this.kill()
  }

  private start(): ChildProcess {
    this.starts += 1
    const child = spawn(process.execPath, [BIN, ...this.args], {
      env: cleanEnvironment(this.env),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    // The pipe's reader was killed.
    child.stdin.on('error', () => undefined)
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      const answer = JSON.parse(line) as Answer
      if (answer.id !== undefined) this.waiting.get(answer.id)?.answered(answer)
    })
    // After `close` no more output follows.
    child.once('close', () => {
      if (this.child === child) this.child = null
      for (const { lost } of this.waiting.values()) lost(new AnswerLost('the bridge ended'))
    })
    return child
  }
}
