/** Tests what the module sends of texts, and its own digest, compared with that of Node.js. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentOf } from '../../../../../adapters/claude-code/mod/content.ts'
import { digest, utf8Length } from '../../../../../adapters/claude-code/mod/sha256.ts'
import { CapturedText } from '../../../../../src/contracts/activity/event.ts'
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../../../src/contracts/limits/claude-module.ts'

const byNode = (text: string) => ({
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
})

test('the digest of any text is that of Node.js, also of broken surrogates', () => {
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit, maxLength: 200 }))
  fc.assert(
    fc.property(texts, (text) => {
      const expected = byNode(text)
      expect({ ...digest(text), bytes: utf8Length(text) }).toEqual(expected)
      expect(digest(text).bytes).toBe(expected.bytes)
    }),
  )
})

test.each([0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 128, 100_000])('a text of %i bytes', (length) => {
  expect(digest('a'.repeat(length))).toEqual(byNode('a'.repeat(length)))
})

test('a text is sent whole up to the limit, then as its beginning with size and digest', () => {
  const whole = 'x'.repeat(LIMITS.mod_content_length_max)
  expect(contentOf(() => whole)).toBe(whole)
  expect(contentOf(() => '')).toBe('')
  const long = `${'x'.repeat(LIMITS.mod_content_length_max - 1)}😀`
  const content = contentOf(() => long)
  expect(content).toEqual({ text: long.slice(0, -2), ...byNode(long) })
  expect(CapturedText.parse(content)).toEqual(content)
})

test('what is not a text, cannot be read, or is very long is left out', () => {
  const endless: Record<string, unknown> = {}
  endless['self'] = endless
  expect(contentOf(() => JSON.stringify(endless))).toBeUndefined()
  expect(contentOf(() => undefined)).toBeUndefined()
  expect(contentOf(() => 7)).toBeUndefined()
  expect(contentOf(() => 'x'.repeat(LIMITS.mod_digested_length_max + 1))).toBeUndefined()
})
