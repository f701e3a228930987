/** The product's hub with garbage collection on demand: the remaining memory is what it needs. */
import { main } from '../../src/hub/main.ts'
import { collectWhenTold } from '../collect.ts'

collectWhenTold()
await main(process.argv.slice(2))
