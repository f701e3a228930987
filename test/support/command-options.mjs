/** The options of a command for developers: its help, and what it does not understand. */
import fs from 'node:fs'
import { parseArgs } from 'node:util'

/**
 * Answers the values and what else was said, or ends the process: with 0 after `--help`, with 2 and the help where
 * something was not understood. Options named in `numbers` become whole numbers from the least that is named there, or
 * undefined where they are left out; those in `directories` and `files` are there. `names`: what may be said beside
 * options, whatever it is (true) or what there is (a list).
 */
export function commandOptions(
  help,
  { options = {}, numbers = {}, directories = [], files = [], names = false, argv = process.argv.slice(2) },
) {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      options: { ...options, help: { type: 'boolean', default: false } },
      allowPositionals: names !== false,
    })
    if (values.help) {
      process.stdout.write(help)
      process.exit(0)
    }
    for (const [name, least] of Object.entries(numbers)) {
      if (values[name] !== undefined) values[name] = wholeNumber(name, values[name], least)
    }
    for (const name of directories) if (values[name] !== undefined) needDirectory(name, values[name])
    for (const name of files) if (values[name] !== undefined) needFile(name, values[name])
    if (Array.isArray(names)) needKnown(positionals, names)
    return { values, positionals }
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${help}`)
    process.exit(2)
  }
}

/** Throws for everything else, the empty text as well: it would be 0. */
export function wholeNumber(name, text, least) {
  const value = Number(text)
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least) {
    throw new Error(`--${name}: ${JSON.stringify(text)} is no whole number from ${least}`)
  }
  return value
}

export function needDirectory(name, directory) {
  if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Error(`--${name}: ${directory} is no directory`)
  }
}

function needFile(name, file) {
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new Error(`--${name}: ${file} is no file`)
}

function needKnown(said, known) {
  const unknown = said.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new Error(
      `there is no ${JSON.stringify(unknown)}; there are ${known.map((name) => JSON.stringify(name)).join(', ')}`,
    )
  }
}
