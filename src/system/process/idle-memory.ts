/**
 * Returns memory of a busy phase, such as the start, to the system when the process is idle. V8 grows its young
 * generation up to 48 MiB and shrinks it only after a full collection, which a process that allocates little may not
 * have for hours.
 */
import v8 from 'node:v8'
import vm from 'node:vm'

const LOOK_MS = 15_000
/** Maximum processor time of an idle process between two checks. */
const IDLE_CPU_MS = 750
/** Minimum size of the young generation for a collection. */
const YOUNG_BYTES_MIN = 4 * 2 ** 20
/** Maximum size of the heap; a collection of a larger one would block for too long. */
const HEAP_BYTES_MAX = 64 * 2 ** 20

export interface Usage {
  /** Processor time of this process, in milliseconds. */
  cpu_ms(): number
  /** Size of the young generation. */
  youngBytes(): number
  heapBytes(): number
  /** Runs a full collection, which blocks for tens of milliseconds. */
  collect(): void
}

/** Checks every 15 seconds. The timer does not keep the process alive. */
export function returnIdleMemory(usage: Usage = ownUsage): void {
  setInterval(createIdleCheck(usage), LOOK_MS).unref()
}

/**
 * Returns a function that runs a collection if the process was idle since the previous call and it would free memory.
 */
export function createIdleCheck(usage: Usage): () => void {
  let before_ms = usage.cpu_ms()
  return () => {
    const used_ms = usage.cpu_ms() - before_ms
    const holds_enough = usage.youngBytes() >= YOUNG_BYTES_MIN && usage.heapBytes() <= HEAP_BYTES_MAX
    if (used_ms <= IDLE_CPU_MS && holds_enough) usage.collect()
    // Excludes the time of the collection.
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
  // Node.js exposes `gc` only with this flag, in contexts created while it is set.
  v8.setFlagsFromString('--expose-gc')
  const gc = vm.runInNewContext('gc') as () => void
  v8.setFlagsFromString('--no-expose-gc')
  gc()
}
