/**
 * Finds Claude Code's history: `projects/<project>/<session>.jsonl`, and the files of its subagents in
 * `<session>/subagents/agent-<id>.jsonl`.
 */
import fs from 'node:fs'
import path from 'node:path'
import { claudeEvents, type SubagentFile } from './parse.ts'
import { fieldsOf, textOf } from '../history/fields.ts'
import { findFiles, type FoundFile } from '../history/files.ts'
import { historyLines } from '../history/lines.ts'
import type { FoundHistory, HistoryReader, HistorySession } from '../history/session.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { handwrittenJson } from '../../../contracts/validation/json.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { readPlainFile } from '../../../system/files/safe-read.ts'

const PROJECTS = 'projects'
const AGENT_FILE = /^agent-(.{1,200})\.jsonl$/

export const claudeHistory: HistoryReader = {
  folder: (env) => env['CLAUDE_CONFIG_DIR'] || path.join(env['HOME'] || env['USERPROFILE'] || '', '.claude'),
  find(folder, since) {
    const inside = path.join(folder, PROJECTS)
    if (!fs.existsSync(inside) && path.basename(folder) !== PROJECTS)
      throw new TurnbellError('usage_invalid', {
        detail: `${folder} contains no history of Claude Code: there is no folder ${PROJECTS}.`,
        hint: 'Name the configuration folder of Claude Code, by default ~/.claude.',
      })
    return sessionsIn(
      findFiles(fs.existsSync(inside) ? inside : folder, (name) => name.endsWith('.jsonl')),
      since,
    )
  },
}

function sessionsIn(files: readonly FoundFile[], since: number): FoundHistory {
  const agents = new Map<string, FoundFile[]>()
  for (const found of files) {
    if (!AGENT_FILE.test(path.basename(found.file))) continue
    const session = ownerOf(found.file)
    if (session !== null) agents.set(session, [...(agents.get(session) ?? []), found])
  }
  const sessions: HistorySession[] = []
  for (const main of files) {
    if (AGENT_FILE.test(path.basename(main.file)) || path.dirname(main.file).includes('subagents')) continue
    const session_id = path.basename(main.file, '.jsonl')
    const own = [...(agents.get(main.file) ?? []), ...(agents.get(session_id) ?? [])]
    const changed_at = Math.max(main.changed_at, ...own.map((agent) => agent.changed_at))
    if (changed_at < since) continue
    sessions.push({
      ...{ session_id, file: main.file, changed_at },
      events: (until, skipped) =>
        claudeEvents({
          ...{ session_id, until, main: historyLines(main.file, skipped) },
          agents: own.map(({ file }) => subagentFile(file, () => historyLines(file, skipped))),
        }),
    })
  }
  return { sessions, unread: [], orphaned: 0 }
}

/** Returns the session's file of a subagent's file, or the session's id if older versions wrote both into one folder. */
function ownerOf(file: string): string | null {
  const parts = file.split(path.sep)
  const at = parts.lastIndexOf('subagents')
  if (at > 0) return `${parts.slice(0, at).join(path.sep)}.jsonl`
  for (const { value } of historyLines(file, { damaged: 0, too_long: 0 }))
    return textOf(value['sessionId']) ?? null
  return null
}

function subagentFile(file: string, lines: () => SubagentFile['lines']): SubagentFile {
  const meta = metaOf(file.replace(/\.jsonl$/, '.meta.json'))
  return {
    id: AGENT_FILE.exec(path.basename(file))?.[1] ?? 'subagent',
    ...{ type: textOf(meta['agentType']), description: textOf(meta['description']) },
    ...{ tool_use_id: textOf(meta['toolUseId']), lines: lines() },
  }
}

function metaOf(file: string) {
  const bytes = readPlainFile(file, LIMITS.history_read_bytes)
  if (!Buffer.isBuffer(bytes)) return {}
  try {
    return fieldsOf(handwrittenJson(bytes.toString()))
  } catch {
    return {}
  }
}
