/** `--identity` is an alias of `--persona` in every command that accepts it. */

/** Replaces `--identity` and `--identity=NAME` by `--persona`, up to `--`. */
export function withPersonaOption(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.map((word, at) => (at < end ? word.replace(/^--identity(?==|$)/, '--persona') : word))
}
