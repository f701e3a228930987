/** The product's hub, which collects its garbage when it is told to: what is left is what it needs. */
import { main } from '../src/hub/main.ts'
import { collectWhenTold } from './collect.ts'

collectWhenTold()
await main(process.argv.slice(2))
