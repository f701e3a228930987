/**
 * Returns the file that contains the path of the socket on which the worker serves the module in this client. Called also by
 * the module, which runs without Node.js.
 */
export function modulePointer(home_root: string, client_pid: number | string): string {
  return `${home_root}/run/claude-${client_pid}.mod`
}
