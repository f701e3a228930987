/** Removed lines with a text, from the file before and after a commit. */
import { cut } from './output.ts'
import type { RemovedLine } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

/** Maximum number of compared lines, because a short text may occur a million times. */
const OCCURRENCES_MAX = 2_000

/** Returns lines with the text that occur less often afterwards. */
export function removedLines(before: string, after: string, text: string): RemovedLine[] {
  const left = new Map<string, number>()
  for (const { excerpt } of places(after, text)) left.set(excerpt, (left.get(excerpt) ?? 0) + 1)

  const removed = new Map<number, RemovedLine>()
  for (const { line: first, excerpt, torn } of places(before, text)) {
    const count = left.get(excerpt) ?? 0
    if (count > 0) {
      left.set(excerpt, count - 1)
      continue
    }
    for (const [n, content] of excerpt.split('\n').entries()) {
      const line = first + n
      if (removed.size === LIMITS.git_removed_lines_max) break
      if (removed.has(line)) continue
      const shown = cut(content)
      removed.set(line, { line, text: shown.text, ...(shown.cut || torn ? { text_cut: true } : {}) })
    }
  }
  return [...removed.values()]
}

interface Place {
  /** Line in which the text begins, from 1. */
  line: number
  /** The complete lines of the text; long lines are truncated around it. */
  excerpt: string
  torn: boolean
}

const NEAR = 200

function* places(contents: string, text: string): Iterable<Place> {
  const feedFrom = (at: number) => {
    const found = contents.indexOf('\n', at)
    return found === -1 ? contents.length : found
  }
  let line = 1
  let line_start = 0
  let line_end = feedFrom(0)
  let seen = 0
  for (let at = contents.indexOf(text); at !== -1; at = contents.indexOf(text, at + text.length)) {
    if ((seen += 1) > OCCURRENCES_MAX) return
    while (line_end < at) {
      line += 1
      line_start = line_end + 1
      line_end = feedFrom(line_start)
    }
    const text_end = at + text.length
    // A text that ends with a line feed does not include the next line.
    const last_end = line_end >= text_end - 1 ? line_end : feedFrom(text_end - 1)
    const start = Math.max(line_start, at - NEAR)
    const end = Math.min(last_end, text_end + NEAR)
    yield { line, excerpt: contents.slice(start, end), torn: start > line_start || end < last_end }
  }
}
