/** `--identity` is an accepted spelling of `--persona` in every command that takes one. */

/** The arguments with `--identity` and `--identity=NAME` spelled `--persona`, up to `--`. */
export function withPersonaOption(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  return argv.map((word, at) => (at < end ? word.replace(/^--identity(?==|$)/, '--persona') : word))
}
