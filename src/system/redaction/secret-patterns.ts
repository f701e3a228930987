/**
 * Patterns of secrets that secretlint's rules do not cover: assignments, headers, and keys of common services. All match
 * in linear time: a repetition begins only where none of its own characters precedes, or is bounded.
 */

/** Positions of a secret in a text, the end excluded. */
export type TextRange = readonly [from: number, to: number]

/** Keys that are recognised by their form. */
const FORMS: readonly RegExp[] = [
  // Keys of OpenAI and of services that imitate them; with a digit, unlike words such as sk-learn.
  /(?<![\w-])sk-(?=[A-Za-z_-]{0,256}\d)[\w-]{16,}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  // JWT: header and payload are JSON objects, hence the first letters.
  /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?/g,
]

/** The value of the header, with its scheme kept. */
const HEADER =
  /(?<head>\bauthorization\\?["']?[ \t]{0,4}[:=][ \t]{0,4}\\?["']?(?:(?:bearer|basic|digest|token|apikey)[ \t]{1,4})?)(?<value>[^\s"'\\,;]+)/gi
const BEARER =
  /(?<head>(?<![\w-])bearer[ \t]{1,4})(?<value>(?=[A-Za-z_~+/=-]{0,256}[\d.])[\w.~+/=-]{12,}|[\w.~+/=-]{32,})/gi

/** With the armour of a diff, a listing with line numbers, or a JSON string; possibly cut before its end. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?<body>(?:[\w+/=\s\\:,.()>|→]|-(?!----))*)(?:-----END [A-Z0-9 ]{0,40}-----)?/g
const KEY_BODY_MIN = 32

const NAME = [
  'pass(?:word|wd|phrase)',
  '(?<=[_-])(?:pass|pwd)',
  String.raw`(?:client[_-]?|shared[_-]?)?secret(?:[_-]?access)?(?:[_-]?key)?(?:[_-]?base)?`,
  '(?:api|access|private|signing|encryption|auth|account|subscription)[_-]?key',
  'token',
].join('|')
/** `name = value` in code, JSON, YAML, shell, queries and dumps of the environment. */
const ASSIGNMENT = new RegExp(
  String.raw`(?:${NAME})(?:[_-]?\d{1,3})?(?<after>\\{0,3}["']?)(?<sign>[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8})` +
    String.raw`(?<value>\\{0,3}"[^"\n]{0,8192}|\\{0,3}'[^'\n]{0,8192}|[^\s"'\x60\\,;&(){}<>[\]]{1,8192})`,
  'gi',
)
/** Variables with a name such as STRIPE_KEY. */
const VARIABLE =
  /(?<head>(?<=[A-Z0-9]_)(?:KEY|PAT|AUTH|CREDENTIALS?)=["']?)(?<value>[^\s"'\\,;&$(){}<>]{8,8192})/g

/** Values in code and schemas that are not secrets: types, constants, and placeholders. */
const NOT_A_SECRET =
  /^(?:string|str|number|int|integer|bool|boolean|object|array|any|unknown|never|void|null|nil|none|undefined|true|false|yes|no|required|optional|invalid|missing|expired|empty|redacted|\*+|x{3,}|\.+|-+|_+)$/i
const CONTAINS_NAME = new RegExp(NAME, 'i')

/** Returns the ranges of the secrets in a text, in no order; they may overlap. */
export function secretRanges(text: string): TextRange[] {
  const found: TextRange[] = []
  for (const form of FORMS)
    for (const match of text.matchAll(form)) found.push([match.index, match.index + match[0].length])
  for (const pattern of [HEADER, BEARER, VARIABLE]) {
    for (const match of text.matchAll(pattern)) {
      const from = match.index + (match.groups?.head ?? '').length
      found.push([from, match.index + match[0].length])
    }
  }
  for (const match of text.matchAll(PRIVATE_KEY)) {
    if ((match.groups?.body ?? '').length < KEY_BODY_MIN) continue
    found.push([match.index, match.index + match[0].length])
  }
  for (const match of text.matchAll(ASSIGNMENT)) {
    const range = assignedRange(text, match)
    if (range !== null) found.push(range)
  }
  return found
}

/** Returns the range of the assigned value without its quotes, null if it does not look like a secret. */
function assignedRange(text: string, match: RegExpExecArray): TextRange | null {
  const { after = '', sign = '', value = '' } = match.groups ?? {}
  const end = match.index + match[0].length
  const begin = end - value.length
  const quote = /^\\*["']/.exec(value)?.[0] ?? ''
  if (quote === '') return isPlainSecret(text, begin, end, after !== '', sign) ? [begin, end] : null
  // The backslashes in front of an escaped closing quote belong to the quote.
  const content = value.slice(quote.length).replace(/\\+$/, '')
  const described = /\s/.test(content) && CONTAINS_NAME.test(content)
  if (content === '' || described || isPlaceholder(content)) return null
  return [begin + quote.length, begin + quote.length + content.length]
}

/** Whether a value without quotes is a secret and not an expression, a type or prose. */
function isPlainSecret(text: string, begin: number, end: number, quotedName: boolean, sign: string): boolean {
  const value = text.slice(begin, end)
  if (/^[$=!~|?%]/.test(value) || isPlaceholder(value) || /^\d{1,5}$/.test(value)) return false
  // A call, an access by index, a template, a generic type.
  if (/[([{<]/.test(text.charAt(end))) return false
  // A member of an object, such as `request.token`.
  if (/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[!?]?$/.test(value)) return false
  if (sign === '=') return !/^[A-Za-z_]\w*$/.test(value) || !/[,)]/.test(text.charAt(end))
  if (quotedName || /\d/.test(value) || /[^\w.]/.test(value)) return value.length >= 4
  const lineEnds = end === text.length || text.charAt(end) === '\n' || text.charAt(end) === '\r'
  return sign.startsWith(':') && lineEnds && /^[a-z]{4,}$/.test(value)
}

function isPlaceholder(value: string): boolean {
  if (
    NOT_A_SECRET.test(value) ||
    /^(?:\$\{|\$[A-Z_(]|\{\{|<|%[A-Z_]+%|\[redacted\]|process\.env)/.test(value)
  )
    return true
  // The value repeats the name, as in `password=password` or `"token": "Token"`.
  return value.length < 40 && new RegExp(`^\\W*(?:\\w*[_-])?(?:${NAME})\\W*$`, 'i').test(value)
}
