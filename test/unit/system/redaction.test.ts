import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createRedactor } from '../../../src/system/redaction/redactor.ts'

const redactor = createRedactor()
const KEY_LINES = Array.from({ length: 12 }, (_, line) => `MIIEpAIBAAKCAQEA${line}vx7agoebGcQ+Suu/PiLVXI64`)
const PEM = ['-----BEGIN RSA PRIVATE KEY-----', ...KEY_LINES, '-----END RSA PRIVATE KEY-----']
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'

/** Each text contains the secret. */
const SECRETS: readonly (readonly [secret: string, text: string])[] = [
  ['abc123', 'curl -H "Authorization: Bearer abc123" https://example.com'],
  ['dXNlcjpwYXNz', 'Authorization: Basic dXNlcjpwYXNz'],
  ['8f14e45fceea167a', 'sent with bearer 8f14e45fceea167a'],
  ['sk-proj-Abc123Def456Ghi789Jkl', 'key sk-proj-Abc123Def456Ghi789Jkl in use'],
  ['sk-0123456789abcdefghij', 'OPENAI=sk-0123456789abcdefghij'],
  ['AKIAIOSFODNN7REALKEY', 'id AKIAIOSFODNN7REALKEY'],
  ['ASIAIOSFODNN7REALKEY', '"AccessKeyId": "ASIAIOSFODNN7REALKEY"'],
  [
    'wJalrXUtnFEMI/K7MDENG/bPxRfiCYREALKEY000',
    'aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYREALKEY000',
  ],
  ['wJalrXUtnFEMI/K7MDENG', '{"SecretAccessKey":"wJalrXUtnFEMI/K7MDENG"}'],
  [KEY_LINES[3] ?? '', PEM.join('\n')],
  [KEY_LINES[3] ?? '', JSON.stringify({ key: PEM.join('\n') })],
  [KEY_LINES[3] ?? '', PEM.map((line, index) => `${index + 1}→${line}`).join('\n')],
  [KEY_LINES[11] ?? '', PEM.slice(0, -1).join('\n')],
  ['hunter2', 'mysql --password=hunter2 -u root'],
  ['hunter2', 'passwd: hunter2\nuser: ada'],
  ['hunter', 'password: hunter'],
  ['hunter2', '{"user": "ada", "password": "hunter2"}'],
  ['hunter2', String.raw`"{\"password\": \"hunter2\"}"`],
  ['correct horse', "passphrase: 'correct horse battery'"],
  ['x9', 'PATH=/bin\nFOO_TOKEN=x9\nHOME=/root'],
  ['pk_99887766aa', 'STRIPE_KEY=pk_99887766aa'],
  ['s3cr3t', 'DB_PASS=s3cr3t'],
  ['a1b2c3', 'https://example.com/?api_key=a1b2c3&page=2'],
  ['a1b2c3', "client_secret: 'a1b2c3'"],
  ['a1b2c3', 'x-api-key: a1b2c3'],
  [JWT, `cookie session=${JWT}; path=/`],
  ['ghp_abcdefghijklmnopqrstuvwxyz0123456789', 'git clone with ghp_abcdefghijklmnopqrstuvwxyz0123456789'],
  ['passw0rd', 'postgres://ada:passw0rd@db.example.com/main'],
  [
    'xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx',
    'slack xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx',
  ],
]

const ORDINARY = [
  'const token = parser.next()',
  'const token = tokens[0]\nif (token === undefined) return',
  'interface Login { password: string; token: Token | null; secret?: Secret }',
  'function login(user, password) { return check(user, { password, token: session.token }) }',
  '{ "max_tokens": 2000, "token_count": 17, "type": "password" }',
  'login(user=user, password=password, token=None)',
  'export FOO_TOKEN=$FOO_TOKEN BAR_SECRET=${BAR}',
  '"password": "Enter your password", "token": ""',
  'The token: a short text that a client sends. Bearer authentication is explained in RFC 6750.',
  "if (text.includes('-----BEGIN PRIVATE KEY-----')) throw new Error('a private key')",
  'pip install sk-learn-contrib-something-long',
  'diff --git a/src/tokenize.ts b/src/tokenize.ts\n@@ -1,4 +1,4 @@\n-export const a = 1\n+export const a = 2',
  'commit 9f9bf9ad0c1b2a3d4e5f60718293a4b5c6d7e8f9\nAuthor: Ada <ada@example.com>',
  'https://example.com/a/b?page=2&sort=name',
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk',
  'error TS2322: Type "string" is not assignable to type "number".',
]

describe('the redactor', () => {
  test.each(SECRETS)('removes %j', async (secret, text) => {
    const redacted = await redactor.redact(text)
    expect(redacted).not.toContain(secret)
    expect(redacted).toContain('[redacted]')
    expect(await redactor.redact(redacted)).toBe(redacted)
  })

  test.each(ORDINARY)('keeps %j', async (text) => {
    expect(await redactor.redact(text)).toBe(text)
  })

  test('texts that are checked together stay separate', async () => {
    const texts = [...SECRETS.map(([, text]) => text), ...ORDINARY]
    const together = await Promise.all(texts.map((text) => redactor.redact(text)))
    for (const [index, text] of texts.entries()) expect(together[index]).toBe(await redactor.redact(text))
  })

  test('only the secret is removed', async () => {
    expect(await redactor.redact('a password=hunter2 b')).toBe('a password=[redacted] b')
    expect(await redactor.redact('{"password": "x"}')).toBe('{"password": "[redacted]"}')
  })

  test('a hostile text does not hang it', async () => {
    const parts = [
      'token="',
      'eyJ-',
      'sk-',
      'bearer ',
      'password=',
      '-----BEGIN PRIVATE KEY-----',
      'a',
      '=',
      '\\"',
    ]
    for (const part of parts) {
      const text = part.repeat(Math.ceil(200_000 / part.length))
      expect((await redactor.redact(text)).length).toBeLessThanOrEqual(2 * text.length)
    }
  })
})

describe('a captured text', () => {
  const max = LIMITS.activity_text_bytes_max

  test('is the redacted text up to the limit', async () => {
    expect(await redactor.capture('password=hunter2')).toBe('password=[redacted]')
    const full = 'a'.repeat(max)
    expect(await redactor.capture(full)).toBe(full)
  })

  test('above the limit has the size and the digest of the whole text', async () => {
    for (const text of ['€'.repeat(max), `${'a'.repeat(max - 1)}€`, 'b\n'.repeat(1024 * 1024)]) {
      const captured = await redactor.capture(text)
      expect(captured).toMatchObject({
        bytes: Buffer.byteLength(text),
        sha256: createHash('sha256').update(text).digest('hex'),
      })
      if (typeof captured === 'string') throw new Error('not cut')
      expect(Buffer.byteLength(captured.text)).toBeLessThanOrEqual(max)
      expect(Buffer.byteLength(captured.text)).toBeGreaterThan(max - 4)
      expect(text.startsWith(captured.text)).toBe(true)
    }
  })

  test('contains no part of a secret at its end', async () => {
    for (const shift of [0, 5, 20, 60]) {
      const text = `${'a '.repeat(max / 2 - shift)}ghp_abcdefghijklmnopqrstuvwxyz0123456789 b`
      const captured = await redactor.capture(text)
      expect(JSON.stringify(captured)).not.toContain('ghp_')
    }
    // The replacements are short, so the stored part would reach the end of the checked part.
    const pems = `${PEM.join('\n')}\n`.repeat(1_000)
    expect(JSON.stringify(await redactor.capture(pems))).not.toContain('MIIE')
  })
})
