/** Prints the results of a fuzzer run: a line for each target, each crash, and the total. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const SHOWN_BYTES = 600

/** `command` is the command line of the fuzzer; `length` is the option for the length of the run. */
export function createReport({ command, seed, length }) {
  const began = performance.now()
  const total = { inputs: 0, crashes: 0 }

  function line(name, inputs, ...rest) {
    process.stdout.write(
      `${name.padEnd(20)} ${String(inputs).padStart(9)} inputs  ${rest.map((one) => one.padStart(11)).join(' ')}\n`,
    )
  }

  return {
    get crashes() {
      return total.crashes
    },
    target({ name, inputs, ways, corpus, crashes, took_ms }) {
      total.inputs += inputs
      const rate = Math.round(inputs / (took_ms / 1000))
      line(name, inputs, `${ways} ways`, `${corpus} kept`, `${crashes} crashes`, `${rate}/s`)
    },
    /** `inputs` is the number of inputs tried before it stopped. */
    unfinished(name, inputs) {
      total.inputs += inputs
      line(name, inputs, inputs === 0 ? 'not begun' : 'not done')
    },
    /** `alone`: the input fails in a fresh world. It is saved in the temporary directory. */
    crash({ name, promise }, input, error, alone) {
      total.crashes += 1
      const bytes = Buffer.from(input)
      const digest = createHash('sha1').update(bytes).digest('hex').slice(0, 8)
      const kept = path.join(os.tmpdir(), `turnbell-fuzz-${name}-${digest}`)
      fs.writeFileSync(kept, bytes)
      const shown = JSON.stringify(bytes.toString('latin1').slice(0, SHOWN_BYTES))
      const again = alone
        ? `${command} ${name} --input ${kept}`
        : `it needs the inputs before it: ${command} ${name} --seed ${seed} ${length}`
      process.stdout.write(
        `CRASH ${name}: ${error}\n  promise: ${promise}\n  input (${bytes.length} bytes): ${shown}\n  again: ${again}\n`,
      )
    },
    total() {
      const seconds = Math.round((performance.now() - began) / 1000)
      line('total', total.inputs, `seed ${seed}`, `${seconds} s`, `${total.crashes} crashes`)
    },
  }
}
