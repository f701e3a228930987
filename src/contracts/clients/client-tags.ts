/**
 * Detection of tags that imitate a client.
 *
 * A name matches by its form, so that tags of future clients are covered: words joined by a hyphen or an underscore, or
 * a name of a current client. Ordinary code has other forms and stays unchanged: elements of HTML and JSX, generics,
 * comparisons, includes, mail addresses, heredocs.
 */
import { CLIENT_TAGS, CLIENT_TAG_LENGTH_MAX } from './client-forms.ts'

/** `<`, and its escapes in other languages. Look-alikes are already folded to `<`. */
const OPENING =
  /<|&(?:amp;)*(?:lt;?|#0*60\b;?|#x0*3c\b;?)|\\u003c|\\u\{0*3c\}|\\x3c|%(?:25)*3c|\[(?=\/?inst\])/gi
const CLOSING = String.raw`(?:>|&(?:amp;)*(?:gt\b|#0*62\b|#x0*3e\b)|\\u003e|\\u\{0*3e\}|\\x3e|%(?:25)*3e)`
/** A tag name is followed by its end, */
const ENDS = new RegExp(String.raw`\s*(?:[/\\?|]+\s*)?${CLOSING}`, 'iy')
/** an attribute, */
const HAS_ATTRIBUTE = /(?:\s+[\p{L}_:@.][\p{L}\p{N}_:@.-]*)?\s*=\s*["'\\&\p{L}\p{N}{]/uy
/** any text up to its end on the same line, */
const ENDS_LATER = new RegExp(String.raw`\s[^\r\n]{0,200}?${CLOSING}`, 'iy')
/** or the end of the line. */
const ENDS_LINE = /[ \t]*(?:$|[\r\n]|\\[nr])/y
const SPECIAL_TOKEN = /\|[^\s|<>]{1,64}\|>/y
/** `<Event type={x} />`: the name starts with one capital letter. */
const IS_JSX = /\s+[\w-]+=\{|[^<>]*\/>/y
const IS_CAPITALISED = /^\p{Lu}\p{Ll}/u
const INCLUDE = /#\s*include(?:_next)?\s*$/
const INCLUDE_LENGTH_MAX = 24

/** Returns the positions of the opening signs. */
export function tagPositions(text: string): number[] {
  const places: number[] = []
  OPENING.lastIndex = 0
  for (let found = OPENING.exec(text); found !== null; found = OPENING.exec(text)) {
    const next = OPENING.lastIndex
    if (found[0] === '[' || isTag(text, found.index, next)) places.push(found.index)
    OPENING.lastIndex = next
  }
  return places
}

/** Whether a tag of a client opens at `start`. `next` is the position after the opening sign. */
function isTag(text: string, start: number, next: number): boolean {
  if (text[next] === '|') return follows(SPECIAL_TOKEN, text, next)
  const { spaced, closes, at } = gapAt(text, next)
  const { name, end, separated } = nameAt(text, at)
  const known = isClientTag(name)
  if (!known && !separated) return false

  const isComplete = () => follows(ENDS, text, end) || follows(HAS_ATTRIBUTE, text, end)
  // `a < max_size && b > c`
  if (spaced && !closes) return isComplete()
  const is_type = !separated && IS_CAPITALISED.test(name)
  if (is_type && !closes && follows(IS_JSX, text, end)) return false
  if (!closes && isAttached(text, start)) {
    // `Array<Event>`, `vector<my_type>`, `i<num_items`, `(?<some_group>…)`
    if (known) return separated || (!is_type && isComplete())
    return name.includes('-') && isComplete()
  }
  if (known || closes) return known || isComplete() || follows(ENDS_LINE, text, end)
  if (INCLUDE.test(text.slice(Math.max(0, start - INCLUDE_LENGTH_MAX), start))) return false
  if (isComplete()) return true
  // `<<END_OF_TEXT`, `1<<n_bits`
  if (text[start - 1] === '<') return false
  return follows(ENDS_LATER, text, end) || follows(ENDS_LINE, text, end)
}

/** Skips the characters between an opening sign and a name: `< `, `</`, `<//`, `<\/`, `<?`, `<!`. */
function gapAt(text: string, from: number): { spaced: boolean; closes: boolean; at: number } {
  let [spaced, closes, at] = [false, false, from]
  for (; at < text.length; at += 1) {
    const sign = text.charAt(at)
    if (sign === '/') closes = true
    else if (isSpace(sign)) spaced = true
    else if (sign !== '\\' && sign !== '!' && sign !== '?') break
  }
  return { spaced, closes, at }
}

/** `separated`: a hyphen or underscore is between two letters or digits of the name. */
function nameAt(text: string, from: number): { name: string; end: number; separated: boolean } {
  let [separated, after_letter, after_separator, end] = [false, false, false, from]
  for (; end < text.length; end += 1) {
    const sign = text.charAt(end)
    if (isLetter(sign)) {
      if (after_separator) separated = true
      after_letter = true
      after_separator = false
    } else if (sign === '-' || sign === '_') {
      if (sign === '-' && end === from) break
      after_separator = after_letter
    } else if (end > from && (sign === ':' || sign === '.')) {
      after_letter = false
      after_separator = false
    } else break
  }
  return { name: text.slice(from, end), end, separated }
}

function isClientTag(name: string): boolean {
  if (name === '' || name.length > CLIENT_TAG_LENGTH_MAX) return false
  const parts = name
    .toLowerCase()
    .replace(/[-_.]/g, '')
    .split(':')
    .filter((part) => part !== '')
  return CLIENT_TAGS.has(parts[0] ?? '') || CLIENT_TAGS.has(parts.at(-1) ?? '')
}

/** Whether the tag follows a word directly, or opens a group or type arguments in code. */
function isAttached(text: string, start: number): boolean {
  const [before, last] = [text[start - 2] ?? '', text[start - 1] ?? '']
  return (
    last === '_' || isLetter(last) || (before === '(' && last === '?') || (before === ':' && last === ':')
  )
}

function isSpace(sign: string): boolean {
  return sign === ' ' || (sign >= '\t' && sign <= '\r') || (sign > '\x7f' && /\s/.test(sign))
}

/** Each half of a surrogate pair counts as a letter; all letters beyond the basic plane have the same form here. */
function isLetter(sign: string): boolean {
  if (sign <= '\x7f')
    return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9')
  return /[\p{L}\p{N}\p{Cs}]/u.test(sign)
}

function follows(form: RegExp, text: string, from: number): boolean {
  form.lastIndex = from
  return form.test(text)
}
