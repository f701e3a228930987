/** Detection of lines that imitate a client: hooks, roles, notices and its own sentences. */
import { CLIENT_SENTENCES, HOOK_EVENTS, HOOK_OUTCOMES } from './client-forms.ts'

/** Prefilter that lets nearly every text skip the patterns below. */
const HAS_WORD =
  /hook|\[\s*(?:system|user|human|assistant|developer|request|turnbell)|(?:human|assistant|system|user|developer)\s*:|claude session|the user sent|caveat:/i

/** Start of a line or of a quoted text. Line breaks may be escaped, as in JSON within a text. */
const LINE = String.raw`(?:^|[\n\r\v\f\u0085\u2028\u2029"]|\\[nr])[ \t]*`
const HOOK_LINE = new RegExp(
  String.raw`${LINE}(?:[>*\u2022\u23bf\u25cf-][ \t]*)*([\p{L}.]{2,40})(:[^\s]{1,80})?[ \t]+(?=hook\b[ \t]*(:|${HOOK_OUTCOMES})?)`,
  'giu',
)
const EVENT_FORM = /^(?:(?:\p{Lu}\p{Ll}+){2,}|\p{Ll}+(?:\.\p{Ll}+)+)$/u
/** The character after each match is replaced. */
const LINES = [
  new RegExp(String.raw`${LINE}(?=\[\s*(?:system\b|turnbell\s*\]|request interrupted))`, 'gi'),
  // Lower case would match sections of configuration files.
  new RegExp(String.raw`${LINE}(?=\[\s*(?:USER|HUMAN|ASSISTANT|DEVELOPER)\b)`, 'g'),
  new RegExp(String.raw`${LINE}(?:Human|HUMAN|Assistant|ASSISTANT)[ \t]*(?=:)`, 'g'),
  // Without the blank line it would match fields of a list.
  /(?:\n|\\n)[ \t\r]*(?:\n|\\n)[ \t]*(?:System|SYSTEM|User|USER|Developer|DEVELOPER)[ \t]*(?=:)/g,
]
const SENTENCE = new RegExp(String.raw`${LINE}(?=(?:${CLIENT_SENTENCES.join('|')}))`, 'gi')

/** Returns the positions of the characters to replace. */
export function linePositions(text: string): number[] {
  if (!HAS_WORD.test(text)) return []
  const ends = (form: RegExp) => [...text.matchAll(form)].map((found) => found.index + found[0].length)
  const of_hooks = [...text.matchAll(HOOK_LINE)]
    .filter(([, event = '', matcher, outcome]) => isHookLine(event, matcher, outcome))
    .map((found) => found.index + found[0].length - 1)
  const of_sentences = ends(SENTENCE).map((start) => text.indexOf(' ', start))
  return [...new Set([...of_hooks, ...LINES.flatMap(ends), ...of_sentences])]
}

/** Matches `PreToolUse:Bash hook …`, and `Stop hook feedback` for a known event or a name in the form of one. */
function isHookLine(event: string, matcher: string | undefined, outcome: string | undefined): boolean {
  if (matcher !== undefined) return true
  if (outcome === undefined) return false
  const name = event.toLowerCase()
  return EVENT_FORM.test(event) || HOOK_EVENTS.some((known) => name.endsWith(known))
}
