/** Redacts secrets in texts: replaces each by its name, in all encodings that servers use. */
import { TurnbellError } from '../../../contracts/errors/errors.ts'

/** Secrets by the names of their variables. */
export type Secrets = ReadonlyMap<string, string>

/** `cut`: the text was truncated, so the beginning of a secret at its end is removed as well. */
export function redact(secrets: Secrets, text: string, cut = false): string {
  const all = spellings(secrets)
  let clean = text
  for (const [spelled, name] of all) clean = clean.replaceAll(spelled, `[${name}]`)
  if (!cut) return clean
  return clean.slice(0, clean.length - Math.max(0, ...all.map(([spelled]) => lengthAtEnd(clean, spelled))))
}

/** Returns the length of the longest beginning of the secret with which the text ends. */
function lengthAtEnd(text: string, secret: string): number {
  let length = secret.length - 1
  while (length > 0 && !text.endsWith(secret.slice(0, length))) length -= 1
  return length
}

/** Redacts an error, whose message may contain an address with a secret after a redirect. */
export function redactError(secrets: Secrets, error: unknown): unknown {
  if (secrets.size === 0 || !(error instanceof Error)) return error
  // Without its cause, which contains the same text.
  if (error instanceof TurnbellError) {
    const [detail, hint] = [redactSentence(secrets, error.detail), redactSentence(secrets, error.hint)]
    return new TurnbellError(error.code, { detail, hint })
  }
  const clean = new Error(redact(secrets, error.message))
  clean.stack = redact(secrets, error.stack ?? '')
  return clean
}

/** Redacts a sentence in which long values end with `…`. */
function redactSentence(secrets: Secrets, text: string): string {
  const parts = text.split('…')
  return parts.map((part, at) => redact(secrets, part, at < parts.length - 1)).join('…')
}

type Spelling = [spelled: string, name: string]

/** Cached, because JSON results contain many texts. */
const cached_spellings = new WeakMap<Secrets, Spelling[]>()

function spellings(secrets: Secrets): Spelling[] {
  const known = cached_spellings.get(secrets) ?? spell(secrets)
  cached_spellings.set(secrets, known)
  return known
}

/** Longest first, because one spelling may contain another. */
function spell(secrets: Secrets): Spelling[] {
  const all = [...secrets].flatMap(([name, secret]) => {
    const encoded = [
      ...[addressed(secret), encodeURIComponent(secret.toWellFormed())],
      ...[asInForms(secret), asInForms(secret).replaceAll('+', '%20')],
    ]
    // Escapes and host names are case-insensitive.
    const either = [secret, ...encoded].flatMap((one) => [
      ...[one, one.toLowerCase()],
      one.replaceAll(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase()),
    ])
    const spelled = new Set([...either, ...inJson(secret)])
    return [...spelled].map((one): Spelling => [one, name])
  })
  return all.filter(([spelled]) => spelled !== '').sort(([a], [b]) => b.length - a.length)
}

/** Characters that JSON encoders escape: signs, markup as by Go and by Gson, non-ASCII characters, or none. */
const ESCAPED = [
  /[^\u0000-\u007f]|[+&'<>`]|\\"/g,
  /[&<>\u2028\u2029]/g,
  /[&'<=>\u2028\u2029]/g,
  /[^\u0000-\u007f]/g,
  /(?!)/g,
]

function inJson(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1)
  // An escaped quote has two characters, of which the last is encoded.
  const hex = (unit: string) =>
    unit
      .charCodeAt(unit.length - 1)
      .toString(16)
      .padStart(4, '0')
  return [plain, plain.replaceAll('/', '\\/')].flatMap((one) =>
    ESCAPED.flatMap((set) => [
      one.replaceAll(set, (unit) => `\\u${hex(unit)}`),
      one.replaceAll(set, (unit) => `\\u${hex(unit).toUpperCase()}`),
    ]),
  )
}

/** Encodes a text as in the path of a URL. */
function addressed(secret: string): string {
  const url = new URL('http://host/')
  url.pathname = secret
  return url.pathname.slice(1)
}

function asInForms(secret: string): string {
  return new URLSearchParams([['', secret]]).toString().slice(1)
}
