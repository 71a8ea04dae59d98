"""Our benchmark shifts beside those of imagecorruptions-imaug: same images, likeness and speed."""
