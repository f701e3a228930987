/**
 * Computes the files from a trace, and their possible states after a crash.
 *
 * A killed process leaves all completed calls. A power cut leaves synced data and any part of the rest. Synced means
 * what POSIX guarantees, nothing beyond:
 *
 * - `fsync` and `fdatasync` of a file persist the contents and length that it had when the call began, not its name.
 * - `fsync` of a directory persists the names that had been created, changed or removed in it when the call began, not
 * the contents of the files, and not the directory's own name in its parent.
 * - A rename is atomic. Between two directories it is persistent when both are synced.
 * - Unsynced changes arrive in any order: a name before the bytes, a later write before an earlier one, a part of a
 * write. Missing bytes of a grown file are zeros.
 *
 * A rename of a directory ends the run, because the recorded code never does it. Links to directories, modes and owners
 * are not modelled: built files have mode 0600, directories 0700.
 */
import { createHash } from 'node:crypto'
import path from 'node:path'
import type { FileCall, Handle } from './trace.ts'

type Change = { call: number } & ({ at: number; bytes: Buffer } | { to: number })

interface File {
  bytes: Buffer
  changed_at: number
  /** Contents that survive a power cut. */
  synced: Buffer
  unsynced: Change[]
}

type Node = File | 'directory'
type Names = Map<string, Node>

interface NameChange {
  call: number
  /** Directories that still have to be synced. */
  needs: Set<string>
  /** Removes the name, if it still refers to this node; then adds the other. */
  gone?: [name: string, node: Node]
  come?: [name: string, node: Node]
}

export type Leaf = { bytes: Buffer; changed_at: number } | 'directory'
/** By path. Every directory precedes its contents. */
export type Tree = Map<string, Leaf>

/** Chooses a number from 0 to `max`, both included. */
export type Choose = (max: number) => number

export class RecordedFiles {
  private readonly root: string
  private readonly names: Names
  private readonly durable: Names
  private pending: NameChange[] = []
  private readonly open = new Map<Handle, { path: string; node: Node }>()
  private calls = 0

  /** `tree` is persistent. */
  constructor(root: string, tree: Tree = new Map()) {
    this.root = root
    this.names = new Map(
      [...tree].map(([name, leaf]) => [name, leaf === 'directory' ? leaf : stillFile(leaf)]),
    )
    this.durable = new Map(this.names)
  }

  apply(call: FileCall): void {
    const number = (this.calls += 1)
    switch (call.do) {
      case 'open': {
        if (call.made) {
          const file = stillFile({ bytes: Buffer.alloc(0), changed_at: 0 })
          this.rename({ call: number, come: [call.path, file] })
        }
        const node = call.path === this.root ? 'directory' : this.at(call.path)
        this.open.set(call.handle, { path: call.path, node })
        if (call.emptied) change(fileIn(node, call.path), { call: number, to: 0 })
        return
      }
      case 'write': {
        const file = this.opened(call.handle)
        change(file, { call: number, at: call.at, bytes: Buffer.from(call.base64, 'base64') })
        file.changed_at = call.changed_at
        return
      }
      case 'truncate': {
        const file = this.opened(call.handle)
        change(file, { call: number, to: call.to })
        file.changed_at = call.changed_at
        return
      }
      case 'sync':
        return this.sync(call.handle, number - 1 - call.meanwhile)
      case 'rename': {
        const node = this.at(call.from)
        if (node === 'directory') throw new Error(`the directory ${call.from} was renamed`)
        return this.rename({ call: number, gone: [call.from, node], come: [call.to, node] })
      }
      case 'link':
        return this.rename({ call: number, come: [call.to, this.at(call.from)] })
      case 'make_directory':
        return this.rename({ call: number, come: [call.path, 'directory'] })
      case 'remove':
      case 'remove_directory':
        return this.rename({ call: number, gone: [call.path, this.at(call.path)] })
    }
  }

  /** Returns the state after all calls so far. */
  killed(): Tree {
    return treeOf(this.root, this.names, ({ bytes }) => bytes)
  }

  /** Returns the state of synced data. */
  withoutPower(): Tree {
    return treeOf(this.root, this.durable, ({ synced }) => synced)
  }

  /** Returns synced data and a chosen part of the rest. */
  torn(choose: Choose): Tree {
    const names = new Map(this.durable)
    for (const change of this.pending) if (choose(1) === 1) applyTo(names, change)
    const contents = new Map<File, Buffer>()
    return treeOf(this.root, names, (file) => {
      const known = contents.get(file) ?? tornContent(file, choose)
      contents.set(file, known)
      return known
    })
  }

  /** Returns an independent copy. */
  copy(): RecordedFiles {
    const copy = new RecordedFiles(this.root)
    const files = new Map<File, File>()
    const copied = (node: Node): Node => {
      if (node === 'directory') return node
      const known = files.get(node) ?? {
        ...node,
        unsynced: node.unsynced.map((one) => ({ ...one, call: 0 })),
      }
      files.set(node, known)
      return known
    }
    for (const [name, node] of this.names) copy.names.set(name, copied(node))
    for (const [name, node] of this.durable) copy.durable.set(name, copied(node))
    for (const [handle, { path: name, node }] of this.open)
      copy.open.set(handle, { path: name, node: copied(node) })
    const moved = (one: [string, Node] | undefined): [string, Node] | undefined =>
      one && [one[0], copied(one[1])]
    copy.pending = this.pending.map(({ needs, gone, come }) =>
      withDefined(new Set(needs), moved(gone), moved(come)),
    )
    return copy
  }

  private rename(what: Omit<NameChange, 'needs'>): void {
    const change = withDefined(new Set(), what.gone, what.come, what.call)
    for (const one of [what.gone, what.come]) if (one !== undefined) change.needs.add(path.dirname(one[0]))
    applyTo(this.names, change)
    this.pending.push(change)
  }

  private sync(handle: Handle, begun: number): void {
    const { path: name, node } = this.open.get(handle) ?? missing(handle)
    if (node === 'directory') {
      for (const change of this.pending) if (change.call <= begun) change.needs.delete(name)
      this.pending = this.pending.filter((change) => {
        if (change.needs.size > 0) return true
        applyTo(this.durable, change)
        return false
      })
      return
    }
    const count = node.unsynced.findIndex(({ call }) => call > begun)
    for (const one of node.unsynced.splice(0, count === -1 ? Infinity : count))
      node.synced = changed(node.synced, one)
  }

  private at(name: string): Node {
    return this.names.get(name) ?? missing(name)
  }

  private opened(handle: Handle): File {
    const { node, path: name } = this.open.get(handle) ?? missing(handle)
    return fileIn(node, name)
  }
}

/** Returns the same key for the same names and bytes, except excluded ones, and the same times where they matter. */
export function treeKey(
  tree: Tree,
  matters: { name: (name: string) => boolean; time: (name: string) => boolean },
): string {
  const hash = createHash('sha1')
  for (const name of [...tree.keys()].sort()) {
    const leaf = tree.get(name) as Leaf
    if (!matters.name(name)) continue
    hash.update(`${name}\0`)
    if (leaf === 'directory') hash.update('directory')
    else hash.update(`${digestOf(leaf.bytes)} ${matters.time(name) ? leaf.changed_at : ''}`)
  }
  return hash.digest('hex')
}

const digests = new WeakMap<Buffer, string>()
function digestOf(bytes: Buffer): string {
  let digest = digests.get(bytes)
  if (digest === undefined) digests.set(bytes, (digest = createHash('sha1').update(bytes).digest('hex')))
  return digest
}

function withDefined(
  needs: Set<string>,
  gone: NameChange['gone'],
  come: NameChange['come'],
  call = 0,
): NameChange {
  return { call, needs, ...(gone === undefined ? {} : { gone }), ...(come === undefined ? {} : { come }) }
}

function applyTo(names: Names, { gone, come }: NameChange): void {
  if (gone !== undefined && names.get(gone[0]) === gone[1]) names.delete(gone[0])
  if (come !== undefined) names.set(...come)
}

function fileIn(node: Node, name: string): File {
  if (node === 'directory') throw new Error(`${name} is a directory`)
  return node
}

function missing(what: string): never {
  throw new Error(`the trace speaks of ${what}, and does not say how that came to be`)
}

function stillFile({ bytes, changed_at }: { bytes: Buffer; changed_at: number }): File {
  return { bytes, changed_at, synced: bytes, unsynced: [] }
}

function change(file: File, what: Change): void {
  file.bytes = changed(file.bytes, what)
  file.unsynced.push(what)
}

function changed(bytes: Buffer, what: { at: number; bytes: Buffer } | { to: number }): Buffer {
  const length = 'to' in what ? what.to : Math.max(bytes.length, what.at + what.bytes.length)
  const after = Buffer.alloc(length)
  bytes.copy(after)
  if ('at' in what) what.bytes.copy(after, what.at)
  return after
}

function tornContent({ synced, unsynced }: File, choose: Choose): Buffer {
  let bytes = synced
  for (const what of unsynced) {
    if ('to' in what) {
      if (choose(1) === 1) bytes = changed(bytes, what)
      continue
    }
    // Often all or nothing, because other writes are usually compared with those states.
    const arrived = [0, what.bytes.length, choose(what.bytes.length)][choose(2)] as number
    if (arrived === 0) continue
    const skipped = choose(3) === 3 ? what.bytes.length - arrived : 0
    const part = what.bytes.subarray(skipped, skipped + arrived)
    bytes = changed(bytes, { at: what.at + skipped, bytes: part })
  }
  return bytes
}

/** A name is unreachable if its directory did not survive. */
function treeOf(root: string, names: Names, contentOf: (file: File) => Buffer): Tree {
  const tree: Tree = new Map()
  for (const name of [...names.keys()].sort()) {
    const above = path.dirname(name)
    if (above !== root && tree.get(above) !== 'directory') continue
    const node = names.get(name) as Node
    tree.set(name, node === 'directory' ? node : { bytes: contentOf(node), changed_at: node.changed_at })
  }
  return tree
}
