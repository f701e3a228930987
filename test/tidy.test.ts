/** Checks rules of the repository: each declaration is documented and tested. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ControlVerb, MachineState } from '../src/contracts/control.ts'
import { SignalStatus } from '../src/contracts/signal.ts'
import { ERRORS } from '../src/contracts/errors/error-catalogue.ts'
import { LIMITS } from '../src/contracts/limits/limits.ts'
import { DAEMON_METRICS, DaemonErrorClass } from '../src/contracts/metrics.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const read = (file: string) => fs.readFileSync(path.join(ROOT, file), 'utf8')

function sources(...directories: string[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const directory of directories) {
    for (const name of fs.readdirSync(path.join(ROOT, directory), { recursive: true, encoding: 'utf8' })) {
      if (/\.(ts|mjs|json|md|service|plist|xml)$/.test(name))
        found.set(path.join(directory, name), read(path.join(directory, name)))
    }
  }
  return found
}

const product = sources('src', 'adapters')
const tests = sources('test')
const everything = (files: Map<string, string>, except = '') =>
  [...files]
    .filter(([name]) => name !== except)
    .map(([, text]) => text)
    .join('\n')

describe('the error catalogue', () => {
  const codes = Object.keys(ERRORS)

  test('every error code is thrown somewhere', () => {
    const used = everything(product, 'src/contracts/errors/error-catalogue.ts')
    expect(codes.filter((code) => !used.includes(`'${code}'`))).toEqual([])
  })
  test('every error code is provoked by a test', () => {
    const provoked = everything(tests, 'test/tidy.test.ts')
    expect(codes.filter((code) => !provoked.includes(code))).toEqual([])
  })
})

describe('the limits', () => {
  test('every limit is used', () => {
    const used = everything(product, 'src/contracts/limits/limits.ts')
    expect(Object.keys(LIMITS).filter((name) => !used.includes(`LIMITS.${name}`))).toEqual([])
  })
  test('the limits have their required order', () => {
    expect(LIMITS.registration_expire_ms).toBeGreaterThan(2 * LIMITS.heartbeat_interval_ms)
    expect(LIMITS.link_silence_max_ms).toBeGreaterThan(LIMITS.ws_ping_interval_ms)
    expect(LIMITS.ws_silence_max_ms).toBeGreaterThan(LIMITS.ws_ping_interval_ms)
    expect(LIMITS.bell_receipt_ms).toBeLessThan(LIMITS.reconnect_patience_ms)
    expect(LIMITS.spool_deferred_bytes_max).toBeLessThan(LIMITS.spool_bytes_max)
    expect(LIMITS.payload_bytes_max).toBeLessThan(LIMITS.body_bytes_max)
  })
})

describe('the readme', () => {
  const readme = read('README.md')

  test('the readme lists every control verb, state, status and metric', () => {
    const words = [
      ...ControlVerb.options,
      ...MachineState.options,
      ...SignalStatus.options,
      ...Object.keys(DAEMON_METRICS),
    ]
    expect(words.filter((word) => !readme.includes(`\`${word}`))).toEqual([])
  })
  test('the readme states the number of series at fifty personas', () => {
    const plain = Object.values(DAEMON_METRICS).filter(
      (metric) => !metric.labels.includes('error_class' as never),
    ).length
    const byClass = Object.keys(DAEMON_METRICS).length - plain
    expect(50 * (plain + byClass * DaemonErrorClass.options.length)).toBe(1200)
    expect(readme).toContain('1,200')
  })
})

describe('the architecture page', () => {
  test('the architecture page names only files that exist', () => {
    const linked = [...read('ARCHITECTURE.md').matchAll(/\]\(((?:src|adapters|docs|test)[^)*]*)\)/g)].map(
      (found) => String(found[1]),
    )
    expect(linked.length).toBeGreaterThan(10)
    expect(linked.filter((file) => !fs.existsSync(path.join(ROOT, file)))).toEqual([])
  })
})

describe('the repository', () => {
  test('every port with promises has a suite', () => {
    for (const port of ['signal-store', 'record-store', 'event-log', 'surface']) {
      expect(fs.existsSync(path.join(ROOT, `test/suites/${port}.suite.ts`)), port).toBe(true)
    }
  })

  test('no file holds a registry address, and no test sleeps', () => {
    const lock = read('package-lock.json')
    expect(lock).not.toMatch(/"resolved"/)
    for (const [name, text] of tests) {
      // A soak run takes as long as its simulated day, so it uses the real clock.
      if (name === 'test/tidy.test.ts' || name.startsWith('test/soak/')) continue
      expect(text, name).not.toMatch(/await (sleep|delay|pause)\(|setTimeout\((resolve|ok|r|done),/)
    }
  })

  // The linter forbids other access to the outside in these folders, but cannot detect a missing argument.
  test('only the system and the entry points read the date', () => {
    const asks = [...product]
      .filter(([name]) => !name.startsWith('src/system/') && !name.startsWith('src/storage/'))
      .filter(([name]) => name.endsWith('.ts') && path.basename(name) !== 'main.ts')
      .filter(([, text]) => text.includes('new Date()'))
    expect(asks.map(([name]) => name)).toEqual([])
  })

  test('no folder of code holds more than 25 files', () => {
    const folders = new Map<string, number>()
    for (const [name] of [...product, ...tests, ...sources('bench')]) {
      if (/^test\/fixtures\//.test(name) || !/\.(ts|mjs)$/.test(name)) continue
      folders.set(path.dirname(name), (folders.get(path.dirname(name)) ?? 0) + 1)
    }
    expect([...folders].filter(([, count]) => count > 25)).toEqual([])
  })

  test('no product file is longer than 500 lines', () => {
    const long = [...product].filter(([name, text]) => name.endsWith('.ts') && text.split('\n').length > 500)
    expect(long.map(([name]) => name)).toEqual([])
  })
})
