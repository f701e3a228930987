/**
 * Completion scripts for shells: a table of the words that are valid at each place, and a function that walks the line
 * up to the cursor. The scripts start no process.
 */

/** The words that are valid after a command. */
export interface CompletionPlace {
  /** The command, such as `persona add`; empty for the first word of the line. */
  path: string
  /** Subcommands, options, and the choices of an argument. */
  words: readonly string[]
  /** Options that take a value, each with its choices; empty if any value is valid. */
  values: Readonly<Record<string, readonly string[]>>
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function completionScript(shell: Shell, places: readonly CompletionPlace[]): string {
  return { bash, zsh, fish }[shell](places)
}

/** Groups the options of one place that have the same choices. */
function valueRows({ path, values }: CompletionPlace): [names: string[], choices: string][] {
  const rows = new Map<string, string[]>()
  for (const [option, choices] of Object.entries(values)) {
    const words = choices.join(' ')
    rows.set(words, [...(rows.get(words) ?? []), `'${path}:${option}'`])
  }
  return [...rows].map(([words, names]) => [names, words])
}

/** The tables as shell functions, for bash and zsh. */
function tables(places: readonly CompletionPlace[]): string {
  const words = places.map(({ path, words: some }) => `    '${path}') echo '${some.join(' ')}' ;;`)
  const values = places
    .flatMap(valueRows)
    .map(([names, choices]) => `    ${names.join(' | ')}) echo '${choices}' ;;`)
  return `_turnbell_words() {
  case "$1" in
${words.join('\n')}
    *) return 1 ;;
  esac
}

_turnbell_values() {
  case "$1:$2" in
${values.join('\n')}
    *) return 1 ;;
  esac
}
`
}

const WALK = `    if [[ -n $option ]]; then
      option=''
    elif [[ $word == -- ]]; then
      return
    elif [[ $word == -* ]]; then
      if _turnbell_values "$place" "$word" > /dev/null; then option=$word; fi
    elif _turnbell_words "\${place:+$place }$word" > /dev/null; then
      place="\${place:+$place }$word"
    fi
  done`

function bash(places: readonly CompletionPlace[]): string {
  return `# Completes turnbell in bash: source <(turnbell completion bash)
${tables(places)}
_turnbell() {
  local cur=\${COMP_WORDS[COMP_CWORD]} at place='' option='' word
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    # bash splits --option=value into three words.
    if [[ $word == = ]]; then continue; fi
${WALK}
  if [[ $cur == = ]]; then cur=''; fi
  if [[ -n $option ]]; then
    COMPREPLY=($(compgen -W "$(_turnbell_values "$place" "$option")" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$(_turnbell_words "$place")" -- "$cur"))
  fi
}

# If no word matches, complete file names.
complete -o default -F _turnbell turnbell
`
}

function zsh(places: readonly CompletionPlace[]): string {
  return `# Completes turnbell in zsh, once compinit has run: source <(turnbell completion zsh)
${tables(places)}
_turnbell() {
  local at place='' option='' word
  local -a choices
  for ((at = 2; at < CURRENT; at++)); do
    word=\${words[at]}
${WALK}
  if [[ -n $option ]]; then
    choices=(\${=$(_turnbell_values "$place" "$option")})
  else
    choices=(\${=$(_turnbell_words "$place")})
  fi
  if [[ -n $option && $#choices -eq 0 ]]; then
    _files
  else
    compadd -- $choices
  fi
}

compdef _turnbell turnbell
`
}

function fish(places: readonly CompletionPlace[]): string {
  const words = places.map(
    ({ path, words: some }) => `        case '${path}'\n            echo '${some.join(' ')}'`,
  )
  const values = places
    .flatMap(valueRows)
    .map(([names, choices]) => `        case ${names.join(' ')}\n            echo '${choices}'`)
  return `# Completes turnbell in fish: turnbell completion fish | source
function __turnbell_words
    switch "$argv[1]"
${words.join('\n')}
        case '*'
            return 1
    end
end

function __turnbell_values
    switch "$argv[1]:$argv[2]"
${values.join('\n')}
        case '*'
            return 1
    end
end

function __turnbell
    set -l place ''
    set -l option ''
    set -l before (commandline -opc)
    set -e before[1]
    for word in $before
        if test -n "$option"
            set option ''
        else if test "$word" = --
            return
        else if string match -q -- '-*' "$word"
            if __turnbell_values "$place" "$word" >/dev/null
                set option "$word"
            end
        else if __turnbell_words (string trim -- "$place $word") >/dev/null
            set place (string trim -- "$place $word")
        end
    end
    if test -z "$option"
        string split -n ' ' -- (__turnbell_words "$place")
        return
    end
    set -l choices (string split -n ' ' -- (__turnbell_values "$place" "$option"))
    if test (count $choices) -gt 0
        printf '%s\\n' $choices
    else
        __fish_complete_path (commandline -ct)
    end
end

complete -c turnbell -f -a '(__turnbell)'
`
}
