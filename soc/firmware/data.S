/* What the firmware carries: the program, as `tilewright pack` writes it, and images. */
    .section .rodata
    .balign 64
    .globl program_image, program_end, images, images_end
program_image:
    .incbin "program.bin"
program_end:
    .balign 64
images:
    .incbin "images.bin"
images_end:
    .byte 0
