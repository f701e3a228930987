/**
 * Records every call by which this process changes or syncs files below a directory, through any API: `node:fs`
 * synchronous, with callbacks or with promises, and packages built on it. All of them use Node's internal binding,
 * which is wrapped here: needs `node --expose-internals`.
 *
 * The approach to record once and crash everywhere is that of T. S. Pillai et al., "All File Systems Are Not Created
 * Equal", OSDI 2014 (ALICE), and on the block level of J. Mohan et al., "Finding Crash-Consistency Bugs with Bounded
 * Black-Box Crash Testing", OSDI 2018 (CrashMonkey).
 */
import fs from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import path from 'node:path'
import timers from 'node:timers/promises'
import type { FileCall, Handle, Mark, TraceLine } from './trace.ts'

type Native = (...args: unknown[]) => unknown
type Binding = Record<string, Native> & {
  kUsePromises: symbol
  FSReqCallback: new () => object
  FileHandle: { prototype: { close: () => Promise<unknown> } }
}

interface Opened {
  handle: Handle
  path: string
  appends: boolean
  /** Position of the next write without an explicit one. */
  at: number
}

export interface Recorder {
  mark: (mark: Mark) => void
  /** Resolves when no file call is running or about to follow. */
  quiet: () => Promise<void>
}

/** Counts other waits of a step: a lock of another process, an incomplete line of another writer. */
function countWaits(underway: (change: 1 | -1) => void): void {
  const wait = timers.setTimeout
  timers.setTimeout = (async (...args: Parameters<typeof wait>) => {
    underway(1)
    try {
      return await wait(...args)
    } finally {
      underway(-1)
    }
  }) as typeof wait
  syncBuiltinESMExports()
}

/** Counts closing handles, which bypass the functions of the binding. */
function countCloses(handle: Binding['FileHandle']['prototype'], underway: (change: 1 | -1) => void): void {
  const { close } = handle
  handle.close = async function (this: typeof handle) {
    underway(1)
    try {
      return await close.call(this)
    } finally {
      underway(-1)
    }
  }
}

/** Other operations of the thread pool. */
const WAITED_FOR = [
  ...['access', 'read', 'readBuffers', 'readdir', 'stat', 'lstat', 'fstat', 'statfs', 'readlink', 'realpath'],
  ...['chmod', 'fchmod', 'utimes', 'futimes', 'lutimes'],
]

/** Number of ticks of the event loop without a file call after which none is expected. */
const QUIET_TICKS = 40

/** `root` must be spelled exactly as in the calls. The trace is outside of it. */
export function record(root: string, trace_file: string): Recorder {
  const binding = bindingOfNode()
  const opened = new Map<number, Opened>()
  const trace = fs.openSync(trace_file, 'a')
  let own = false
  let underway = 0
  let opens = 0
  let ended = 0
  let touched = 0

  /** Runs file calls of the recorder itself, which are not recorded. */
  const unseen = <T>(work: () => T): T => {
    const before = own
    own = true
    try {
      return work()
    } finally {
      own = before
    }
  }
  const put = (line: TraceLine) => unseen(() => void fs.writeSync(trace, `${JSON.stringify(line)}\n`))
  const tell = (call: FileCall) => {
    ended += 1
    put(call)
  }
  const changedAt = (fd: number) => unseen(() => fs.fstatSync(fd).mtimeMs)
  const isInside = (file: unknown): boolean => {
    const name = nameOf(file)
    return name === root || name.startsWith(root + path.sep)
  }
  const isThere = (file: unknown) =>
    unseen(() => fs.lstatSync(nameOf(file), { throwIfNoEntry: false })) !== undefined

  countWaits((change) => void (underway += change))
  countCloses(binding.FileHandle.prototype, (change) => {
    touched += 1
    underway += change
  })

  /**
   * Wraps one function. `before` receives the arguments and returns a function for the result, or null for a call
   * outside of the root. The type of the last argument determines how the result is returned.
   */
  const take = (name: string, before: (args: unknown[]) => ((result: unknown) => void) | null) => {
    const native = binding[name] as Native
    binding[name] = function (this: unknown, ...args: unknown[]) {
      const after = own ? null : before(args)
      if (after === null) return native.apply(this, args)
      touched += 1
      const last = args.at(-1)
      if (last === binding.kUsePromises) {
        underway += 1
        const ends = () => void (underway -= 1)
        return (native.apply(this, args) as Promise<unknown>).then(
          (result) => {
            ends()
            after(result)
            return result
          },
          (error: unknown) => {
            ends()
            throw error
          },
        )
      }
      if (last instanceof binding.FSReqCallback) {
        const request = last as { oncomplete: (error: unknown, result: unknown) => void }
        const done = request.oncomplete
        underway += 1
        request.oncomplete = function (this: unknown, error: unknown, result: unknown) {
          underway -= 1
          if (error === null || error === undefined) after(result)
          done.call(this, error, result)
        }
        return native.apply(this, args)
      }
      const result = native.apply(this, args)
      const failed = typeof last === 'object' && last !== null && 'errno' in last
      if (!failed) after(result)
      return result
    }
  }

  const noteOpened = (file: unknown, flags: number, existed: boolean, fd: number) => {
    const handle = `${process.pid}:${(opens += 1)}`
    const name = nameOf(file)
    opened.set(fd, { handle, path: name, appends: (flags & fs.constants.O_APPEND) !== 0, at: 0 })
    const made = !existed
    const emptied = existed && (flags & fs.constants.O_TRUNC) !== 0
    tell({ do: 'open', handle, path: name, made, emptied })
  }
  const opening = (args: unknown[]) => {
    const [file, flags] = args as [unknown, number]
    const inside = isInside(file)
    const existed = inside && isThere(file)
    return (result: unknown) => {
      const fd = typeof result === 'number' ? result : (result as { fd: number }).fd
      if (inside) noteOpened(file, flags, existed, fd)
      // The number may belong to a handle that was closed without this binding.
      else opened.delete(fd)
    }
  }
  take('open', opening)
  take('openFileHandle', opening)

  const written = (fd: number, bytes: Buffer, position: unknown) => {
    const file = opened.get(fd) as Opened
    const placed = typeof position === 'number' && position >= 0
    const at = file.appends ? unseen(() => fs.fstatSync(fd).size) - bytes.length : placed ? position : file.at
    if (!placed) file.at = at + bytes.length
    const changed_at = changedAt(fd)
    tell({ do: 'write', handle: file.handle, at, base64: bytes.toString('base64'), changed_at })
  }
  take('writeBuffer', ([fd, source, offset, length, position]) => {
    if (!opened.has(fd as number)) return null
    const view = source as Uint8Array
    // Copied, because the caller may reuse the buffer.
    const bytes = Buffer.from(view.subarray(offset as number, (offset as number) + (length as number)))
    return (count) => written(fd as number, bytes.subarray(0, count as number), position)
  })
  take('writeBuffers', ([fd, sources, position]) => {
    if (!opened.has(fd as number)) return null
    const bytes = Buffer.concat(sources as Uint8Array[])
    return (count) => written(fd as number, bytes.subarray(0, count as number), position)
  })
  take('writeString', ([fd, text, position, encoding]) => {
    if (!opened.has(fd as number)) return null
    const bytes = Buffer.from(text as string, (encoding as BufferEncoding | undefined) ?? 'utf8')
    return (count) => written(fd as number, bytes.subarray(0, count as number), position)
  })
  // With a name it opens, writes and closes in one call.
  take('writeFileUtf8', ([file, text, flags]) => {
    const bytes = Buffer.from(text as string, 'utf8')
    if (typeof file === 'number') return opened.has(file) ? () => written(file, bytes, null) : null
    if (!isInside(file)) return null
    const existed = isThere(file)
    return () => {
      const fd = unseen(() => fs.openSync(nameOf(file), 'r'))
      noteOpened(file, flags as number, existed, fd)
      written(fd, bytes, null)
      opened.delete(fd)
      unseen(() => fs.closeSync(fd))
    }
  })
  take('ftruncate', ([fd, length]) => {
    const file = opened.get(fd as number)
    if (file === undefined) return null
    return () =>
      tell({
        do: 'truncate',
        handle: file.handle,
        to: Number(length ?? 0),
        changed_at: changedAt(fd as number),
      })
  })
  for (const name of ['fsync', 'fdatasync']) {
    take(name, ([fd]) => {
      const file = opened.get(fd as number)
      const begun = ended
      return file === undefined
        ? null
        : () => tell({ do: 'sync', handle: file.handle, meanwhile: ended - begun })
    })
  }
  take('close', ([fd]) => {
    opened.delete(fd as number)
    return () => undefined
  })

  take('rename', ([from, to]) => {
    if (!isInside(from) && !isInside(to)) return null
    return () => tell({ do: 'rename', from: nameOf(from), to: nameOf(to) })
  })
  take('link', ([from, to]) =>
    isInside(to) ? () => tell({ do: 'link', from: nameOf(from), to: nameOf(to) }) : null,
  )
  take('unlink', ([file]) => (isInside(file) ? () => tell({ do: 'remove', path: nameOf(file) }) : null))
  take('rmdir', ([file]) =>
    isInside(file) ? () => tell({ do: 'remove_directory', path: nameOf(file) }) : null,
  )
  take('mkdir', ([file, , recursive]) => {
    if (!isInside(file)) return null
    const missing = recursive === true ? missingOf(nameOf(file)) : [nameOf(file)]
    return () => {
      for (const one of missing) tell({ do: 'make_directory', path: one })
    }
  })
  /** Returns the missing directories of a path, topmost first. */
  const missingOf = (file: string): string[] =>
    isThere(file) || !isInside(file) ? [] : [...missingOf(path.dirname(file)), file]

  // The recorded code does not use these calls. If it does in the future, the trace would be incomplete, so they end
  // the run.
  for (const name of ['symlink', 'copyFile', 'mkdtemp']) {
    take(name, (args) => {
      if (!args.some((arg) => typeof arg === 'string' && isInside(arg)) && !opened.has(args[0] as number))
        return null
      throw new Error(`${name} is not recorded, and was called for ${String(args[0])}`)
    })
  }

  // These calls change nothing, but the recorder waits for them.
  for (const name of WAITED_FOR) take(name, () => () => undefined)

  return {
    mark: put,
    async quiet() {
      for (let ticks = 0, seen = touched; ticks < QUIET_TICKS; ticks += 1) {
        await new Promise<void>((resolve) => setImmediate(resolve))
        if (underway === 0 && touched === seen) continue
        seen = touched
        ticks = 0
      }
    },
  }
}

function nameOf(file: unknown): string {
  return Buffer.isBuffer(file) ? file.toString() : String(file)
}

function bindingOfNode(): Binding {
  const { internalBinding } = createRequire(import.meta.url)('internal/test/binding') as {
    internalBinding: (name: string) => Binding
  }
  return internalBinding('fs')
}
