/** The options of a command for developers: its help, and what it does not understand. */
import { parseArgs } from 'node:util'

/**
 * Answers the values and what else was said, or ends the process: with 0 after `--help`, with 2 and the help where
 * something was not understood. Options named in `numbers` become whole numbers from the least that is named there, or
 * undefined where they are left out.
 */
export function commandOptions(help, { options, numbers = {}, names = false, argv = process.argv.slice(2) }) {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { ...options, help: { type: 'boolean', default: false } },
      allowPositionals: names,
    })
    if (values.help) {
      process.stdout.write(help)
      process.exit(0)
    }
    for (const [name, least] of Object.entries(numbers)) {
      const text = values[name]
      if (text === undefined) continue
      const value = Number(text)
      if (!Number.isSafeInteger(value) || value < least) {
        throw new Error(`--${name}: ${JSON.stringify(text)} is no whole number from ${least}`)
      }
      values[name] = value
    }
    return { values, positionals }
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${help}`)
    process.exit(2)
  }
}
