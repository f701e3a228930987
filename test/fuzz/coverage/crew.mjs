/**
 * The threads of the fuzzer. Each runs one target after another and is monitored from outside: an input that ends or
 * hangs its thread counts as a crash, and another thread continues with the next targets.
 */
import { Worker } from 'node:worker_threads'

const MEMORY_MB = 1_024
/** Maximum input size of any target, so that an input that hangs can be saved whole. */
const INPUT_BYTES_MAX = 4_194_304

/**
 * `file` is the bundle of `main.ts`; `settings` are its options. `names` selects targets; all if empty. `inputs` and
 * `minutes` limit the whole run; Infinity means no limit. `report` receives all findings. No input may take longer than
 * `hang_ms`. `ended` resolves when every target is done or the crew was stopped, with the error of the fuzzer itself or
 * null.
 */
export function createCrew({ file, settings, threads, names, inputs, minutes, hang_ms, sources, report }) {
  /** Targets that have not started; null until the first thread has reported them. */
  let waiting = null
  let shares = 0
  const until = performance.now() + minutes * 60_000
  const members = new Set()
  let failure = null
  let stopped = false
  let over = () => {}
  const ended = new Promise((resolve) => (over = resolve))

  function begin() {
    const beats = new Int32Array(new SharedArrayBuffer(8))
    const now = new Uint8Array(new SharedArrayBuffer(INPUT_BYTES_MAX))
    const worker = new Worker(file, {
      // Source maps slow down each error, but a single crash under investigation needs them.
      execArgv: ['--no-warnings', ...(sources ? ['--enable-source-maps'] : [])],
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB, stackSizeMb: 1 },
      workerData: { ...settings, beats, now },
    })
    /** `explained`: the reason for an early end of the thread is known. */
    const member = { worker, beats, now, target: null, from: 0, explained: false, beat: 0, beat_at: 0 }
    members.add(member)
    worker.on('message', (told) => hear(member, told))
    worker.on('error', (error) => {
      // The heap of a target is limited, so that a parser with unlimited memory use crashes here.
      if (member.target === null) fail(String(error?.stack ?? error))
      else crash(member, String(error?.stack ?? error), false)
    })
    worker.on('exit', (code) => leave(member, code))
  }

  function hear(member, told) {
    if (told.about === 'targets') {
      if (waiting === null) {
        waiting = told.targets.filter(({ name }) => names.length === 0 || names.includes(name))
        shares = sharesOf(waiting)
      }
      give(member)
    } else if (told.about === 'crash') {
      report.crash(member.target, told.input, told.error, told.alone)
    } else if (told.about === 'failed') {
      fail(told.error)
    } else {
      member.target = null
      report.target(told)
      give(member)
    }
  }

  function give(member) {
    const left = sharesOf(waiting)
    const target = waiting.shift()
    if (target === undefined) return member.worker.postMessage(null)
    // Unused time of one target is distributed to the following ones.
    const part = Math.min(1, (target.share * threads) / left)
    member.target = target
    member.from = Atomics.load(member.beats, 0)
    member.beat_at = performance.now()
    // No input has been tried yet.
    Atomics.store(member.beats, 1, 0)
    member.worker.postMessage({
      name: target.name,
      inputs: Math.ceil((inputs * target.share) / shares),
      milliseconds: (until - performance.now()) * part,
    })
  }

  function leave(member, code) {
    members.delete(member)
    const { target } = member
    if (target !== null) {
      if (!member.explained && !stopped) crash(member, `it ended the thread with ${code}`, true)
      report.unfinished(target.name, Atomics.load(member.beats, 0) - member.from)
    } else if (!stopped && code !== 0) failure ??= `a thread ended with ${code} before it tried anything`
    if (!stopped && target !== null && waiting.length > 0) return begin()
    if (members.size > 0) return
    clearInterval(watch)
    for (const { name } of waiting ?? []) report.unfinished(name, 0)
    over(failure)
  }

  function crash(member, error, alone) {
    member.explained = true
    const input = Buffer.from(member.now.subarray(0, Atomics.load(member.beats, 1)))
    report.crash(member.target, input, error, alone)
  }

  function fail(error) {
    failure ??= error
    void stop()
  }

  async function stop() {
    stopped = true
    await Promise.all([...members].map(({ worker }) => worker.terminate()))
  }

  const watch = setInterval(() => {
    for (const member of members) {
      const latest = Atomics.load(member.beats, 0)
      if (latest !== member.beat) {
        member.beat = latest
        member.beat_at = performance.now()
      } else if (
        member.target !== null &&
        !member.explained &&
        performance.now() - member.beat_at > hang_ms
      ) {
        crash(member, `nothing came of it in ${hang_ms} ms`, true)
        void member.worker.terminate()
      }
    }
  }, 1_000)

  for (let thread = 0; thread < threads; thread += 1) begin()
  return { ended, stop }
}

function sharesOf(targets) {
  return targets.reduce((sum, { share }) => sum + share, 0)
}
