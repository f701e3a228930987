/**
 * Sanitizes text that imitates the markup of agent clients: tags (`<system-reminder>`), lines of hooks
 * (`PreToolUse:Bash hook error`), roles (`Human:`), notices (`[SYSTEM …]`).
 *
 * One character of each imitation is replaced by `~`: the opening sign of a tag, the space before `hook`, the colon
 * after a role, the bracket of a notice. The result is never longer than the text, in bytes and in JSON, so size limits
 * stay valid. The function is idempotent and returns other text unchanged.
 */
import { linePositions } from './client-lines.ts'
import { tagPositions } from './client-tags.ts'
import { foldedText, isDisguised } from '../text/folded-text.ts'

export const MARK = '~'

export function withoutClientMarkup(text: string): string {
  if (IS_NAME.test(text) || (!SIGN.test(text) && !HOOK.test(text))) return text
  const { folded, at } = isDisguised(text) ? foldedText(text) : { folded: text, at: null }
  const of_lines = linePositions(folded)
  // A broken line may end an exemption of the tag after it.
  const lined = of_lines.length === 0 ? folded : marked(folded, of_lines, null)
  const places = [...of_lines, ...tagPositions(lined)]
  return places.length === 0 ? text : marked(text, places, at)
}

/** Most strings of a response are keys, ids and paths. */
const IS_NAME = /^[\w./-]*$/
/** Every imitation contains one of these. */
const SIGN = /[<&\\%[:\x00-\x08\x0e-\x1f\x7f-\uffff]/
const HOOK = /hook/i

/** `at` maps positions in the folded text to positions in `text`; null if both are the same. */
function marked(text: string, places: readonly number[], at: readonly number[] | null): string {
  const starts = places.map((place) => at?.[place] ?? place).sort((a, b) => a - b)
  const parts: string[] = []
  let done = 0
  for (const start of starts) {
    parts.push(text.slice(done, start), MARK)
    done = start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1)
  }
  parts.push(text.slice(done))
  return parts.join('')
}
