/**
 * Returns the memory that a process needed while it was busy, such as during its start, once it idles. V8 grows its young
 * generation up to 48 MiB, and shrinks it only after a full collection: a process that allocates little may not have one for
 * hours.
 */
import v8 from 'node:v8'
import vm from 'node:vm'

const LOOK_MS = 15_000
/** Processor time of an idle process between two looks. */
const IDLE_CPU_MS = 750
/** A young generation of this size is worth a collection. */
const YOUNG_BYTES_MIN = 4 * 2 ** 20
/** A full collection of a larger heap would block for too long. */
const HEAP_BYTES_MAX = 64 * 2 ** 20

export interface Usage {
  /** Processor time of this process so far, milliseconds. */
  cpu_ms(): number
  /** Memory of the young generation. */
  youngBytes(): number
  heapBytes(): number
  /** Runs a full collection, which blocks for tens of milliseconds. */
  collect(): void
}

/** Looks every 15 seconds for as long as the process lives, which this does not extend. */
export function returnIdleMemory(usage: Usage = ownUsage): void {
  setInterval(createLook(usage), LOOK_MS).unref()
}

/** The returned function collects if the process was idle since the call before, and holds memory that this can free. */
export function createLook(usage: Usage): () => void {
  let before_ms = usage.cpu_ms()
  return () => {
    const used_ms = usage.cpu_ms() - before_ms
    const holds_enough = usage.youngBytes() >= YOUNG_BYTES_MIN && usage.heapBytes() <= HEAP_BYTES_MAX
    if (used_ms <= IDLE_CPU_MS && holds_enough) usage.collect()
    // Not the time of the collection itself.
    before_ms = usage.cpu_ms()
  }
}

const ownUsage: Usage = {
  cpu_ms: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
  youngBytes: () =>
    v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.physical_space_size ??
    0,
  heapBytes: () => process.memoryUsage().heapUsed,
  collect: collectAll,
}

function collectAll(): void {
  // Node offers `gc` only with this flag; contexts made while it is set have it.
  v8.setFlagsFromString('--expose-gc')
  const gc = vm.runInNewContext('gc') as () => void
  v8.setFlagsFromString('--no-expose-gc')
  gc()
}
