/** Finds Codex's history: `sessions/<year>/<month>/<day>/rollout-<time>-<thread>.jsonl`, one file for each thread. */
import fs from 'node:fs'
import path from 'node:path'
import { codexEvents, type ThreadFile } from './parse.ts'
import { metaOf, type ThreadMeta } from './thread-meta.ts'
import { findFiles, type FoundFile } from '../history/files.ts'
import { historyLines } from '../history/lines.ts'
import type { FoundHistory, HistoryReader } from '../history/session.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'

const FOLDERS = ['sessions', 'archived_sessions']
const ROLLOUT = /^rollout-.{1,200}\.jsonl$/

export const codexHistory: HistoryReader = {
  folder: (env) => env['CODEX_HOME'] || path.join(env['HOME'] || env['USERPROFILE'] || '', '.codex'),
  find(folder, since) {
    const inside = FOLDERS.map((name) => path.join(folder, name)).filter((name) => fs.existsSync(name))
    if (inside.length === 0 && path.basename(folder) !== FOLDERS[0])
      throw new TurnbellError('usage_invalid', {
        detail: `${folder} contains no history of Codex: there is no folder sessions.`,
        hint: 'Name the folder of Codex, by default ~/.codex.',
      })
    const files = (inside.length === 0 ? [folder] : inside).flatMap((name) =>
      findFiles(name, (file) => ROLLOUT.test(file)),
    )
    return sessionsOf(files.filter(({ changed_at }) => changed_at >= since))
  },
}

interface Thread extends FoundFile {
  meta: ThreadMeta
}

function sessionsOf(files: readonly FoundFile[]): FoundHistory {
  const unread: FoundHistory['unread'] = []
  let orphaned = 0
  const threads = new Map<string, Thread>()
  for (const found of files) {
    const [first] = historyLines(found.file, { damaged: 0, too_long: 0 })
    const meta = first === undefined ? null : metaOf(first.value)
    if (meta === null) unread.push({ file: found.file, reason: 'its first line does not describe a session' })
    else threads.set(meta.id, { ...found, meta })
  }
  const members = new Map<string, Thread[]>()
  for (const thread of threads.values()) {
    const root = rootOf(thread, threads)
    if (root === null) orphaned += 1
    else if (root !== thread) members.set(root.meta.id, [...(members.get(root.meta.id) ?? []), thread])
  }
  const main = [...threads.values()].filter(({ meta }) => meta.parent === null)
  const sessions = main.map((thread) => {
    const subagents = members.get(thread.meta.id) ?? []
    const all = [thread, ...subagents]
    return {
      session_id: thread.meta.id,
      file: thread.file,
      changed_at: Math.max(...all.map(({ changed_at }) => changed_at)),
      events: (until: number, skipped: Parameters<typeof historyLines>[1]) => {
        const open = ({ file, meta }: Thread): ThreadFile => ({ meta, lines: historyLines(file, skipped) })
        return codexEvents({ main: open(thread), agents: subagents.map(open), until })
      },
    }
  })
  sessions.sort((a, b) => a.changed_at - b.changed_at)
  return { sessions, unread, orphaned }
}

/** Returns the thread that a person uses, null if it is not among the files. */
function rootOf(thread: Thread, threads: ReadonlyMap<string, Thread>): Thread | null {
  let root: Thread | undefined = thread
  for (let depth = 0; root !== undefined && depth < DEPTH_MAX; depth++) {
    if (root.meta.parent === null) return root
    root = threads.get(root.meta.parent)
  }
  return null
}
const DEPTH_MAX = 32
