/** Finds secrets with secretlint's recommended rules and own patterns. Loads secretlint at first use, in about 70 ms. */
import { createHash } from 'node:crypto'
import type { CapturedText } from '../../contracts/activity/event.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { REDACTED, type Redactor } from '../../ports/redaction/redactor.ts'
import { secretRanges, type TextRange } from './secret-patterns.ts'

/** A run of the rules takes 0.6 ms for a short text, so texts of one tick of the event loop are checked together. */
const RUN_LENGTH_MAX = 128 * 1024
const SEPARATOR = '\n\0\n'
/** Part of a long text that is checked; the stored part is shorter. */
const CHECKED_LENGTH_MAX = 2 * LIMITS.activity_text_bytes_max
/** At the end of the checked part a secret may be cut. A private key is the longest one. */
const UNCERTAIN_LENGTH = 8 * 1024

type FindSecrets = (text: string) => Promise<TextRange[]>

interface Waiting {
  text: string
  resolve: (redacted: string) => void
  reject: (error: unknown) => void
}

export function createRedactor(): Redactor {
  let loaded: Promise<FindSecrets> | null = null
  let waiting: Waiting[] = []

  const run = async (texts: readonly Waiting[]) => {
    try {
      const find = await (loaded ??= loadRules())
      const redacted = await redactTogether(
        texts.map(({ text }) => text),
        find,
      )
      texts.forEach(({ resolve }, index) => resolve(redacted[index] ?? REDACTED))
    } catch (error) {
      // If loading failed, the next call tries again.
      loaded = null
      for (const { reject } of texts) reject(error)
    }
  }
  const runAll = () => {
    const texts = waiting
    waiting = []
    for (const group of groupsOf(texts)) void run(group)
  }
  const redact = (text: string): Promise<string> => {
    // The shortest secret is an assignment such as `pwd=x`.
    if (text.length < 5) return Promise.resolve(text)
    return new Promise((resolve, reject) => {
      if (waiting.length === 0) queueMicrotask(runAll)
      waiting.push({ text, resolve, reject })
    })
  }
  return { redact, capture: (text) => captureWith(redact, text) }
}

async function captureWith(redact: (text: string) => Promise<string>, text: string): Promise<CapturedText> {
  const whole = text.length <= CHECKED_LENGTH_MAX
  const redacted = await redact(whole ? text : text.slice(0, CHECKED_LENGTH_MAX))
  const sure = whole ? redacted : redacted.slice(0, Math.max(0, redacted.length - UNCERTAIN_LENGTH))
  const kept = cutToBytes(sure, LIMITS.activity_text_bytes_max)
  if (whole && kept.length === redacted.length) return redacted
  return {
    text: kept,
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  }
}

/** Returns the longest beginning of at most `bytes_max` bytes that ends between two characters. */
function cutToBytes(text: string, bytes_max: number): string {
  if (text.length * 3 <= bytes_max) return text
  const bytes = Buffer.from(text)
  if (bytes.length <= bytes_max) return text
  let end = bytes_max
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

function groupsOf(texts: readonly Waiting[]): Waiting[][] {
  const groups: Waiting[][] = []
  let length = Infinity
  for (const one of texts) {
    if (length + one.text.length > RUN_LENGTH_MAX) {
      groups.push([])
      length = 0
    }
    groups.at(-1)?.push(one)
    length += one.text.length
  }
  return groups
}

async function redactTogether(texts: readonly string[], find: FindSecrets): Promise<string[]> {
  const found = await find(texts.join(SEPARATOR))
  let start = 0
  return texts.map((text) => {
    const [from, to] = [start, start + text.length]
    start = to + SEPARATOR.length
    const inside = found
      .filter((range) => range[0] < to && range[1] > from)
      .map((range): TextRange => [Math.max(0, range[0] - from), Math.min(text.length, range[1] - from)])
    return replaceRanges(text, [...inside, ...secretRanges(text)])
  })
}

function replaceRanges(text: string, ranges: TextRange[]): string {
  if (ranges.length === 0) return text
  ranges.sort((a, b) => a[0] - b[0] || b[1] - a[1])
  let [result, done] = ['', 0]
  for (const [from, to] of ranges) {
    if (to <= done) continue
    if (from >= done) result += `${text.slice(done, from)}${REDACTED}`
    done = to
  }
  return result + text.slice(done)
}

async function loadRules(): Promise<FindSecrets> {
  const [{ lintSource }, { creator }] = await Promise.all([
    import('@secretlint/core'),
    import('@secretlint/secretlint-rule-preset-recommend'),
  ])
  const options = { config: { rules: [{ id: 'recommended', rule: creator }] }, noPhysicFilePath: true }
  return async (content) => {
    const source = { filePath: '/text.txt', content, ext: '.txt', contentType: 'text' as const }
    const { messages } = await lintSource({ source, options })
    return messages.map(({ range: [from, to] }): TextRange => [from, to])
  }
}
