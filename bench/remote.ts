/** Calls into a benchmark process over Node's IPC channel: one promise per call, and errors are returned. */
import type { ChildProcess } from 'node:child_process'
import { startNode, type Process } from './processes.ts'
import path from 'node:path'

type Handlers = Record<string, (params: never) => unknown>

/** A table of handlers from the caller's side. */
export type Remote<H extends Handlers> = {
  [M in keyof H]: (...params: Parameters<H[M]>) => Promise<Awaited<ReturnType<H[M]>>>
}

interface Request {
  id: number
  method: string
  params: unknown
}
interface Answer {
  id: number
  result?: unknown
  error?: string
}

/** Serves the handlers in the process. It ends with the bench. */
export function serve(handlers: Handlers): void {
  const answer = async ({ id, method, params }: Request): Promise<Answer> => {
    try {
      const handle = handlers[method] as ((params: unknown) => unknown) | undefined
      if (!handle) throw new Error(`no method ${method}`)
      return { id, result: await handle(params) }
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
    }
  }
  process.on('message', (request: Request) => void answer(request).then((message) => process.send?.(message)))
  process.on('disconnect', () => process.exit(0))
  // Exits normally, so that a requested profile is written.
  process.on('SIGTERM', () => process.exit(0))
}

/** Starts the bundle of that name without waiting; its first response shows that it runs. */
export async function startRemote<H extends Handlers>(
  name: string,
): Promise<Process & { call: Remote<H>; child: ChildProcess }> {
  const { child, pid, stop } = await startNode([path.join(import.meta.dirname, `${name}.js`)], { ipc: true })
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>()
  let last_id = 0
  child.on('message', ({ id, result, error }: Answer) => {
    const one = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) one?.resolve(result)
    else one?.reject(new Error(`${name}: ${error}`))
  })
  child.once('exit', () => {
    for (const { reject } of waiting.values()) reject(new Error(`${name} ended`))
  })
  const call = (method: string, params: unknown) =>
    new Promise((resolve, reject) => {
      const id = ++last_id
      waiting.set(id, { resolve, reject })
      child.send({ id, method, params } satisfies Request, (error) => error && reject(error))
    })
  const calls = new Proxy({}, { get: (_, method: string) => (params: unknown) => call(method, params) })
  return { pid, child, stop, call: calls as Remote<H> }
}
