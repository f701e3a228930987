import { describe, expect, test, vi } from 'vitest'
import { createLook } from '../../../src/system/idle-memory.ts'

const MIB = 2 ** 20

/** The numbers that the process has at the second look, of which the first one is at 1,000 ms. */
function looked({ cpu_ms = 1_100, young = 8 * MIB, heap = 30 * MIB }): number {
  const now = { cpu_ms: 1_000 }
  const collect = vi.fn<() => void>()
  const look = createLook({
    cpu_ms: () => now.cpu_ms,
    youngBytes: () => young,
    heapBytes: () => heap,
    collect,
  })
  now.cpu_ms = cpu_ms
  look()
  return collect.mock.calls.length
}

describe('a process that looks at its memory', () => {
  test('collects when it was idle and its young generation is large', () => {
    expect(looked({})).toBe(1)
  })
  test('does not collect while it is busy', () => {
    expect(looked({ cpu_ms: 1_751 })).toBe(0)
  })
  test('does not collect a small young generation', () => {
    expect(looked({ young: 4 * MIB - 1 })).toBe(0)
  })
  test('does not collect a large heap', () => {
    expect(looked({ heap: 64 * MIB + 1 })).toBe(0)
  })
})
