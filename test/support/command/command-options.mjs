/** Parses the options of a developer command, prints its help, and rejects unknown input. */
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'

/** The range of seeds; larger numbers would wrap around. */
export const SEEDS = { least: 0, most: 2 ** 32 - 1 }

/**
 * Returns the option values and positional arguments, or ends the process: with 0 after `--help`, with 2 and the help
 * after invalid input. Options in `numbers` become numbers within the given bounds (see `number`), or undefined if
 * omitted. Paths in `directories` and `files` must exist. Paths in `places.names` are resolved from the directory in
 * which the user called the npm script. Empty values and repeated options are rejected. `names` are the permitted
 * positional arguments: any (true) or a list. `check` receives the values and throws for invalid combinations.
 */
export function commandOptions(
  help,
  {
    options = {},
    numbers = {},
    directories = [],
    files = [],
    places = { script: '', names: [] },
    names = false,
    argv = process.argv.slice(2),
    check = () => undefined,
  },
) {
  try {
    const { values, positionals, tokens } = parseArgs({
      args: argv,
      options: { ...options, help: { type: 'boolean', short: 'h', default: false } },
      allowPositionals: names !== false,
      tokens: true,
    })
    if (values.help) {
      process.stdout.write(help)
      process.exit(0)
    }
    needOnce(tokens)
    for (const [name, bounds] of Object.entries(numbers)) {
      if (values[name] !== undefined) values[name] = number(name, values[name], bounds)
    }
    for (const [name, value] of Object.entries(values))
      if (value === '') throw new Error(`--${name}: is empty`)
    for (const name of places.names)
      if (values[name] !== undefined) values[name] = path.resolve(callersPlace(places.script), values[name])
    for (const name of directories) if (values[name] !== undefined) needDirectory(name, values[name])
    for (const name of files) if (values[name] !== undefined) needFile(name, values[name])
    if (Array.isArray(names)) needKnown(positionals, names)
    check(values)
    return { values, positionals }
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${help}`)
    process.exit(2)
  }
}

function needOnce(tokens) {
  const said = new Set()
  for (const { kind, name } of tokens) {
    if (kind === 'option' && said.has(name)) throw new Error(`--${name}: is said twice`)
    said.add(name)
  }
}

/** npm runs a script in the directory of its package and passes the caller's directory in the environment. */
function callersPlace(script) {
  const { npm_lifecycle_event, INIT_CWD } = process.env
  return npm_lifecycle_event === script ? (INIT_CWD ?? '') : ''
}

/**
 * `bounds` is a minimum for whole numbers, `{least, most}` for whole numbers, or `{above, most}` or `{from, most}` for
 * any number. Throws for every other text, including the empty one, which would otherwise be 0.
 */
export function number(name, text, bounds) {
  const value = Number(text)
  const {
    least,
    above,
    from,
    most = Number.MAX_SAFE_INTEGER,
  } = typeof bounds === 'number' ? { least: bounds } : bounds
  const [kind, fits] =
    least !== undefined
      ? [`whole number from ${least}`, Number.isSafeInteger(value) && value >= least]
      : above !== undefined
        ? [`number above ${above}`, value > above]
        : [`number from ${from}`, value >= from]
  if (text.trim() !== '' && fits && value <= most) return value
  const end = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
  throw new Error(`--${name}: ${JSON.stringify(text)} is no ${kind}${end}`)
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
