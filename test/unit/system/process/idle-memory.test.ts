import { describe, expect, test, vi } from 'vitest'
import { createIdleCheck } from '../../../../src/system/process/idle-memory.ts'

const MIB = 2 ** 20

/** Values at the second check; at the first one the processor time is 1,000 ms. */
function looked({ cpu_ms = 1_100, young = 8 * MIB, heap = 30 * MIB }): number {
  const now = { cpu_ms: 1_000 }
  const collect = vi.fn<() => void>()
  const look = createIdleCheck({
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
  test('an idle process with a large young generation collects', () => {
    expect(looked({})).toBe(1)
  })
  test('a busy process does not collect', () => {
    expect(looked({ cpu_ms: 1_751 })).toBe(0)
  })
  test('a small young generation is not collected', () => {
    expect(looked({ young: 4 * MIB - 1 })).toBe(0)
  })
  test('a large heap is not collected', () => {
    expect(looked({ heap: 64 * MIB + 1 })).toBe(0)
  })
})
